// pprof bytes -> Profile.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

struct PprofDecodeOptions {
  uint64_t decoded_bytes_max = uint64_t{4} << 30;  // after gzip
};

// Reads a pprof profile, gzip or plain. Order, duplicates, unused rows and empty rows are kept, so
// that encoding it again loses nothing; unknown fields are skipped.
// Shape: a label with text and number keeps both; a location may have no mapping and no lines.
// Cost:  linear; memory is the plain bytes plus the profile.
// Errors: Corrupt, naming the message, its position and the field: no profile, truncated, an id
//         that is zero, double or missing, a string index outside the table, a wrong number of
//         values, two profiles one after the other. Exhausted beyond decoded_bytes_max.
base::Result<profile::Profile> DecodePprof(std::string_view bytes,
                                           const PprofDecodeOptions& options = {});

}  // namespace vesta::wire
