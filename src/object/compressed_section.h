// Sections that are stored compressed (SHF_COMPRESSED, .zdebug_*), as for debugging information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/base/result.h"

namespace vesta::object {

// Shape: `content` is a view of what was read; nothing of it has been looked at.
struct CompressedSection {
  enum class Method : uint8_t { kZlib, kZstd };
  Method method = Method::kZlib;
  std::span<const std::byte> content;
  uint64_t size_bytes = 0;  // of what comes out
};

// Reads the header of a section with SHF_COMPRESSED, or of one named .zdebug_*, as it lies in the
// file.
// Errors: as DecompressSection, all that the header alone shows.
// Source: System V gABI, "Section Compression"; of .zdebug_* the binutils manual.
base::Result<CompressedSection> ReadCompressedSection(std::span<const std::byte> stored,
                                                      uint64_t size_bytes_max);
base::Result<CompressedSection> ReadZdebugSection(std::span<const std::byte> stored,
                                                  uint64_t size_bytes_max);

// Fills `to`, which is as large as the section says; nothing is written beyond.
// Errors: Corrupt when it does not come to exactly this size.
base::Result<void> DecompressInto(const CompressedSection& section, std::span<std::byte> to);

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
