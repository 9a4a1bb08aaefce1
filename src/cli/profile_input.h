// Profiles that users name: which file, which format, which of its sample types.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/cli/settings/options.h"
#include "src/profile/profile.h"

namespace vesta::cli {

// Reads a file of any readable format, of --from's if that is given. Addresses of a perf.data get
// the names that the files of this machine have for them.
// Errors: as wire::ReadProfileFile.
base::Result<profile::Profile> ReadInput(const std::string& path, const Settings& settings);

// The same of bytes that are read already; `name` is for messages.
base::Result<profile::Profile> DecodeInput(std::string_view bytes, const std::string& name,
                                           const Settings& settings);

// The sample type that --type names, else the one that the profile prefers.
// Errors: InvalidInput with the types that there are.
base::Result<size_t> ChooseSampleType(const profile::Profile& profile, const Settings& settings);

}  // namespace vesta::cli
