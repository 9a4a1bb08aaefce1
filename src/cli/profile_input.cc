#include "src/cli/profile_input.h"

#include "src/symbolize/name_profile.h"
#include "src/wire/perf_data_decoder.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {

namespace {

base::Result<wire::DecodeOptions> DecodeOptionsOf(const Settings& settings) {
  wire::DecodeOptions options;
  if (settings.from != "auto") {
    ASSIGN_OR_RETURN(options.from, wire::ReadableFormatOfWord(settings.from));
  }
  return options;
}

}  // namespace

base::Result<profile::Profile> ReadInput(const std::string& path, const Settings& settings) {
  ASSIGN_OR_RETURN(const wire::DecodeOptions options, DecodeOptionsOf(settings));
  ASSIGN_OR_RETURN(const std::string bytes, wire::ReadWholeFile(path, options));
  return DecodeInput(bytes, wire::NameForMessages(path), settings);
}

base::Result<profile::Profile> DecodeInput(std::string_view bytes, const std::string& name,
                                           const Settings& settings) {
  ASSIGN_OR_RETURN(const wire::DecodeOptions options, DecodeOptionsOf(settings));
  ASSIGN_OR_RETURN(profile::Profile profile, wire::DecodeProfile(bytes, name, options));
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
