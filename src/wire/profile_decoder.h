// Bytes of any readable format -> Profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/wire/profile_format.h"

namespace vesta::wire {

struct DecodeOptions {
  std::optional<ProfileFormat> from = std::nullopt;  // readable; nothing = told by the content
  uint64_t size_bytes_max = uint64_t{4} << 30;       // also of what gzip makes of it
};

// Reads what SniffFormat tells, with or without gzip around it; `name` is for messages.
// Errors: Corrupt with name, format and place; Unsupported with what the file is, or the list of
//         what can be read; InvalidInput when the content is of another format than options.from;
//         Exhausted above the limit.
base::Result<profile::Profile> DecodeProfile(std::string_view bytes, const std::string& name,
                                             const DecodeOptions& options = {});

// Refuses what is told by its first bytes to be no profile, before the rest is read or unpacked: it
// may be gigabytes of zeros.
// Errors: as DecodeProfile's.
base::Result<void> CheckStart(std::string_view first_bytes, const std::string& name,
                              const DecodeOptions& options);

}  // namespace vesta::wire
