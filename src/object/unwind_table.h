// Turns an image's call frame information into the compact table that the kernel's walker reads
// (layout: abi/unwind.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "abi/unwind.h"
#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"

namespace vesta::object {

struct UnwindTableStats {
  uint64_t eh_frame_bytes = 0;
  uint64_t fde_count = 0;
  uint64_t fde_damaged_count = 0;  // skipped: their range falls back to the frame pointer
  uint64_t row_count = 0;
  uint64_t rule_count = 0;  // rules that did not fit into a row
  uint64_t unsupported_row_count = 0;
  // Code that no entry describes, and what was made of it (uncovered_code.h).
  uint64_t scanned_code_bytes = 0;
  uint64_t left_out_code_bytes = 0;  // too much of it: falls back to the frame pointer
  uint64_t confirmed_function_count = 0;
  uint64_t rejected_function_count = 0;
  bool refused_debug_frame = false;  // compressed in an unknown way, damaged, or too large
};

struct UnwindTable {
  std::vector<uint32_t> words;  // padded to whole blocks; empty: the image has no rules
  UnwindTableStats stats;
};

// A range of code whose rule is known from elsewhere, e.g. from Go's function table.
struct RowRange {
  uint64_t start_vaddr = 0;
  uint64_t end_vaddr = 0;
  uint32_t row_bits = 0;  // a row of abi/unwind.h without its address: kind and operand
};

// Shape:  where no call frame information says otherwise, the first bytes from the entry point are
// a
//         root, and signal return trampolines of static programs, of Go programs and of libraries
//         that can be started (musl's) are found by their machine code. The overrides, in any
//         order, win over everything; where two overlap, the one that starts first.
// Cost:   one pass over .eh_frame and .debug_frame, which speaks where the former does not, and one
//         sort. Memory while it runs: the sections, 8 bytes per FDE, 4 bytes per row.
// Errors: Corrupt when nothing usable could be read although a section promises it. A damaged entry
//         costs only its own range and is counted. Unsupported for other machines than x86-64
//         and arm64, and for code that spans more than 1 GiB; Exhausted beyond 16 M rows.
base::Result<UnwindTable> BuildUnwindTable(const ElfFile& elf, const base::ByteSource& source,
                                           std::span<const RowRange> overrides = {});

struct LookupResult {
  uint32_t kind = ABI_ROW_SPECIAL;  // abi_row_kind
  uint32_t operand = 0;
  std::optional<abi_rule> rule;  // set when the kind is ABI_ROW_RULE
};

// The row that holds at an address inside the image, read plainly from the layout; empty where the
// table has none, or when the words are no table.
std::optional<LookupResult> LookupRow(std::span<const uint32_t> words, uint64_t image_address);

}  // namespace vesta::object
