// The parts of an ELF file that vesta needs, read with bounds checks from bytes nobody vouches for.
// Pure: bytes come in through a ByteSource; nothing is opened here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"

namespace vesta::object {

enum class Machine { kX86_64, kArm64, kOther };

struct LoadSegment {
  uint64_t vaddr = 0;
  uint64_t file_offset = 0;
  uint64_t file_size_bytes = 0;
  uint64_t memory_size_bytes = 0;
  bool executable = false;
};

struct Section {
  std::string name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t vaddr = 0;
  uint64_t file_offset = 0;
  uint64_t size_bytes = 0;
  uint64_t entry_size_bytes = 0;
  uint32_t link = 0;
};

// Headers of one 64-bit little-endian ELF file.
// Shape:  sections keep their numbers, 0 included; one whose bytes lie outside the file is kept
// with
//         type SHT_NULL and size 0. The file part of a segment is cut at the end of the file.
//         Section names are cut at 64 bytes.
// Errors: of Parse: Corrupt when it is no ELF file or the program headers lie outside the file,
//         Unsupported for 32-bit or big-endian files. A file without section headers, or with a
//         dangling table of them, is fine: segments alone serve unwinding.
class ElfFile {
 public:
  static base::Result<ElfFile> Parse(const base::ByteSource& source);

  Machine machine() const { return machine_; }
  uint16_t type() const { return type_; }  // ET_EXEC, ET_DYN, ...
  uint64_t entry_vaddr() const { return entry_vaddr_; }
  bool has_interpreter() const { return has_interpreter_; }
  const std::vector<LoadSegment>& load_segments() const { return load_segments_; }
  const std::vector<Section>& sections() const { return sections_; }
  const Section* FindSection(std::string_view name) const;

  // Lower-case hex of NT_GNU_BUILD_ID; empty when there is none.
  const std::string& gnu_build_id() const { return gnu_build_id_; }
  // Text of Go's build id note; empty when there is none.
  const std::string& go_build_id() const { return go_build_id_; }

  // PT_GNU_EH_FRAME, for files stripped of section headers: address and size of .eh_frame_hdr.
  struct Range {
    uint64_t vaddr = 0;
    uint64_t size_bytes = 0;
  };
  const std::optional<Range>& eh_frame_header() const { return eh_frame_header_; }

  // File offset of an address of a load segment, and the other way round: the address that an
  // executable mapping with that file offset (a multiple of the page size) starts with. Segments
  // count from the start of their first page; executable ones come first where two share a page.
  // Empty when no segment's file part covers it.
  std::optional<uint64_t> FileOffsetOf(uint64_t vaddr) const;
  std::optional<uint64_t> VaddrOf(uint64_t file_offset) const;

 private:
  Machine machine_ = Machine::kOther;
  uint16_t type_ = 0;
  uint64_t entry_vaddr_ = 0;
  bool has_interpreter_ = false;
  std::vector<LoadSegment> load_segments_;
  std::vector<Section> sections_;
  std::string gnu_build_id_;
  std::string go_build_id_;
  std::optional<Range> eh_frame_header_;
};

// What tells two files apart: "gnu:<hex>", else "go:<text>", else "hash:<32 hex digits>" of size,
// head and tail of the file.
base::Result<std::string> ImageIdentity(const ElfFile& elf, const base::ByteSource& source);

}  // namespace vesta::object
