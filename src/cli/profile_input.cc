#include "src/cli/profile_input.h"

#include "src/symbolize/name_profile.h"
#include "src/wire/perf_data_decoder.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {

base::Result<profile::Profile> ReadInput(const std::string& path, const Settings& settings) {
  wire::DecodeOptions options;
  if (settings.from != "auto") {
    ASSIGN_OR_RETURN(options.from, wire::ReadableFormatOfWord(settings.from));
  }
  ASSIGN_OR_RETURN(profile::Profile profile, wire::ReadProfileFile(path, options));
  // A perf.data has no names in it; perf, too, takes them from the files when it shows one.
  if (!wire::IsOfPerfData(profile) || !symbolize::MayBeNamed(profile)) return profile;
  symbolize::NamingCounts counts;
  return symbolize::NameProfile(profile, symbolize::NameSourcesOfThisMachine(), &counts);
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
