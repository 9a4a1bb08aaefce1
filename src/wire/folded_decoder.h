// Folded lines -> Profile.
#pragma once

#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Shape: lines as folded_encoder.h writes them; LF or CRLF, empty lines and a UTF-8 mark in front
//        are skipped, equal lines are added up. "_[k]" behind a name puts the function into the
//        kernel's mapping; an empty name becomes "[unknown]". The one sample type is samples/count.
// Errors: Corrupt, naming the line: no count behind the last space, a count that is no whole
//         number or too large, UTF-16.
base::Result<profile::Profile> DecodeFolded(std::string_view text);

}  // namespace vesta::wire
