// MiniDebugInfo: a small ELF file with the names of local functions, packed with xz in
// .gnu_debugdata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/result.h"

namespace vesta::symbolize {

// Cost:   memory of the result and at most kXzMemoryBytesMax beside it.
// Errors: Exhausted when more than size_bytes_max come out, or when the stream asks for too much
//         memory; Corrupt when it is damaged or ends early.
base::Result<std::vector<std::byte>> UnpackXz(std::span<const std::byte> packed,
                                              size_t size_bytes_max);

inline constexpr uint64_t kXzMemoryBytesMax = uint64_t{80} << 20;  // xz -9 asks for 65 MB

}  // namespace vesta::symbolize
