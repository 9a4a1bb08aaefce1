// The file that stops sampling while it is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace vesta::cli {

// Whether nothing is to be sampled now.
// Shape: a file that says "until UNIX_SECONDS" holds until then; any other, an empty one too, as
//        long as it is there. One that is there but cannot be read holds.
bool IsPaused(const std::string& path, int64_t now_unix_ms);

// until_unix_s: 0 = as long as it is there. Makes the folder if only that is missing.
// Errors: as mkdir(2), open(2), write(2).
base::Result<void> WritePauseFile(const std::string& path, int64_t until_unix_s);

}  // namespace vesta::cli
