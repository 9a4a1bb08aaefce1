// Sections that are stored compressed (SHF_COMPRESSED), as for debugging information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/base/result.h"

namespace vesta::object {

struct DecompressedSection {
  std::unique_ptr<std::byte[]> bytes;
  size_t size_bytes = 0;
};

// Shape:  `stored` is the section as it lies in the file, its Elf64_Chdr included.
// Cost:   the result is allocated at once, as large as the header says; one pass over the bytes.
// Errors: Exhausted when the section says that it is larger than size_bytes_max; Corrupt when it
//         says what this many bytes cannot come to, or does not come to what it says; Unsupported
//         for other ways to compress than zlib and zstd.
// Source: System V gABI, "Section Compression".
base::Result<DecompressedSection> DecompressSection(std::span<const std::byte> stored,
                                                    uint64_t size_bytes_max);

}  // namespace vesta::object
