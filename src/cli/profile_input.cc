#include "src/cli/profile_input.h"

#include "src/wire/profile_file.h"

namespace vesta::cli {

base::Result<profile::Profile> ReadInput(const std::string& path, const Settings& settings) {
  wire::DecodeOptions options;
  if (settings.from != "auto") {
    ASSIGN_OR_RETURN(options.from, wire::ReadableFormatOfWord(settings.from));
  }
  return wire::ReadProfileFile(path, options);
}

base::Result<size_t> ChooseSampleType(const profile::Profile& profile, const Settings& settings) {
  if (settings.type == "auto") return profile.DefaultSampleTypeIndex();
  std::string known;
  for (size_t i = 0; i < profile.sample_types().size(); ++i) {
    const std::string_view type = profile.String(profile.sample_types()[i].type);
    if (type == settings.type) return i;
    known += (known.empty() ? "" : ", ") + std::string(type);
  }
  return base::Error(base::ErrorCode::kInvalidInput,
                     "the profile has no sample type '" + settings.type + "': give " + known);
}

}  // namespace vesta::cli
