// zstd by libzstd, unpacked with a bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace vesta::wire {

bool IsZstd(std::string_view bytes);

// How large the first frame says it gets; 0 when it does not say, or promises what no zstd data of
// this size can hold.
uint64_t UnzstdSizeHint(std::string_view bytes);

// One frame that says its size and, where there is a prefix, a checksum.
// Shape:  `prefix` is what an earlier message was before it was packed: what both have in common
//         costs little, but only who has the very same prefix can unpack it. Prefix and bytes
//         together are at most 8 MiB, else the prefix is of no use and is left out: the result
//         is then a frame that stands alone.
// Cost:   the prefix is indexed each time, about as fast as as many bytes are packed.
std::string Zstd(std::string_view bytes, int level = 3, std::string_view prefix = {});

// Unpacks all frames, one after another, the first with the prefix that it was packed with.
// Shape:  frames that need a window of more than 8 MiB (zstd --ultra, --long) are refused, as RFC
//         8878 allows: the memory for it would be beyond size_bytes_max.
// Errors: Corrupt when it is truncated, damaged, or followed by something else; Exhausted when it
//         would become larger than size_bytes_max; Unsupported for such a window or a dictionary.
base::Result<std::string> Unzstd(std::string_view bytes, uint64_t size_bytes_max,
                                 std::string_view prefix = {});

}  // namespace vesta::wire
