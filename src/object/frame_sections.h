// Where an image keeps its call frame information, and how it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/eh_frame.h"
#include "src/object/elf_file.h"

namespace vesta::object {

struct FrameSectionPlace {
  FrameSectionKind kind = FrameSectionKind::kEhFrame;
  uint64_t file_offset = 0;
  uint64_t size_bytes = 0;  // as stored
  uint64_t vaddr = 0;       // 0 for .debug_frame, which is not loaded
  bool is_compressed = false;
  bool ends_at_terminator = false;  // see FrameSection
};

// .eh_frame, by its section or by the program header of .eh_frame_hdr; empty when there is none.
// Errors: Corrupt when it is promised but lies outside the file.
base::Result<std::optional<FrameSectionPlace>> FindEhFrame(const ElfFile& elf,
                                                           const base::ByteSource& source);
// .debug_frame, empty when there is none.
std::optional<FrameSectionPlace> FindDebugFrame(const ElfFile& elf);

// The table for a binary search in .eh_frame_hdr, as every linker writes it; empty when there is
// none, or it is written in another way.
// Shape: count entries of two signed 32-bit numbers each, counted from header_vaddr: the start of a
//        function, ascending, and where its FDE is.
struct FrameSearchTable {
  uint64_t header_vaddr = 0;
  uint64_t file_offset = 0;
  uint64_t count = 0;
  uint64_t eh_frame_vaddr = 0;
};
std::optional<FrameSearchTable> FindFrameSearchTable(const ElfFile& elf,
                                                     const base::ByteSource& source);

// A section with its bytes.
struct LoadedFrameSection {
  std::unique_ptr<std::byte[]> owned_bytes;
  FrameSection section;  // of owned_bytes
};

// Errors: Exhausted when it is larger than size_bytes_max, decompressed; Corrupt when it lies
//         outside the file or is compressed and damaged; of the source.
base::Result<LoadedFrameSection> LoadFrameSection(const base::ByteSource& source,
                                                  const FrameSectionPlace& place,
                                                  uint64_t size_bytes_max);

}  // namespace vesta::object
