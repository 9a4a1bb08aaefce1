// `vesta top FILE`: the table of a recorded profile.

#include <string>

#include "src/cli/output.h"
#include "src/cli/profile_input.h"
#include "src/cli/run.h"
#include "src/cli/top_view.h"

namespace vesta::cli {
namespace {

base::Result<std::string> RenderFile(const TopOptions& options) {
  ASSIGN_OR_RETURN(const profile::Profile profile, ReadInput(options.file, options));
  ASSIGN_OR_RETURN(const size_t sample_type, ChooseSampleType(profile, options));
  const flame::TopTable table = flame::MakeTopTable(profile, sample_type, OrderOf(options));
  const flame::TopRenderOptions render = RenderOptionsOf(options);
  if (options.format == Format::kJson) return flame::RenderTopJson(table, render);
  return flame::RenderTopText(table, render);
}

}  // namespace

int RunTopFile(const TopOptions& options) {
  const auto text = RenderFile(options);
  return text.ok() ? PrintOut(*text) : ReportFailure("top", text.error());
}

}  // namespace vesta::cli
