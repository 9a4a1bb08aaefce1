// Values without times -> a profile: what EncodeOtlpProfile wrote, and what other tools keep so.
#pragma once

#include <span>
#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire::otlp {

// Whether a sample of these messages has a time of its own.
base::Result<bool> HasTimes(std::span<const std::string_view> messages);

// Shape:  the profiles of a scope are sample types of one profile; samples of the same stack,
//         attributes and link belong together, wherever they stand. A number of samples with a
//         period alone is also given in the period's unit.
// Errors: as DecodeOtlpFile.
base::Result<profile::Profile> DecodeValues(std::span<const std::string_view> messages);

}  // namespace vesta::wire::otlp
