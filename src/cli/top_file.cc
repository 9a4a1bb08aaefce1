// `vesta top FILE`: the table of a recorded profile.

#include <string>

#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/top_view.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

// The sample type that the user named, by its name or by its unit.
base::Result<size_t> ChooseSampleType(const profile::Profile& profile, const std::string& wanted) {
  if (wanted == "auto") return profile.DefaultSampleTypeIndex();
  std::string known;
  for (size_t i = 0; i < profile.sample_types().size(); ++i) {
    const std::string_view type = profile.String(profile.sample_types()[i].type);
    if (type == wanted) return i;
    known += (known.empty() ? "" : ", ") + std::string(type);
  }
  return base::Error(base::ErrorCode::kInvalidInput,
                     "the profile has no sample type '" + wanted + "': give " + known);
}

base::Result<std::string> RenderFile(const TopOptions& options) {
  ASSIGN_OR_RETURN(const profile::Profile profile, wire::ReadProfileFile(options.file));
  ASSIGN_OR_RETURN(const size_t sample_type, ChooseSampleType(profile, options.type));
  const flame::TopTable table = flame::MakeTopTable(profile, sample_type, OrderOf(options));
  const flame::TopRenderOptions render = RenderOptionsOf(options);
  if (options.format == Format::kJson) return flame::RenderTopJson(table, render) + "\n";
  return flame::RenderTopText(table, render);
}

}  // namespace

int RunTopFile(const TopOptions& options) {
  const auto text = RenderFile(options);
  return text.ok() ? PrintOut(*text) : ReportFailure("top", text.error());
}

}  // namespace vesta::cli
