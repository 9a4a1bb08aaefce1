// Turns an image's call frame information into the compact table that the kernel's walker reads
// (layout: abi/unwind.h).
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"

namespace vesta::object {

struct UnwindTableStats {
  uint64_t eh_frame_bytes = 0;
  uint64_t fde_count = 0;
  uint64_t fde_damaged_count = 0;     // skipped: their range falls back to the frame pointer
  uint64_t row_count = 0;
  uint64_t rule_count = 0;            // rules that did not fit into a row
  uint64_t unsupported_row_count = 0;
};

struct UnwindTable {
  std::vector<uint32_t> words;  // padded to whole blocks; empty: the image has no rules
  UnwindTableStats stats;
};

// Cost:   one pass over .eh_frame (or .debug_frame) and one sort; O(rows) memory while it runs.
// Errors: Corrupt when nothing usable could be read although a section promises it. A damaged entry
//         costs only its own range and is counted.
base::Result<UnwindTable> BuildUnwindTable(const ElfFile& elf, const base::ByteSource& source);

}  // namespace vesta::object
