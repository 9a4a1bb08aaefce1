// Frame rules from the machine code itself, for code that comes without call frame information:
// hand-written assembly, and C libraries that are built without it (musl's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/object/unwind_table.h"

namespace vesta::object {

// Code in one piece.
struct CodePiece {
  uint64_t start_vaddr = 0;
  std::vector<std::byte> bytes;
};

struct CodeFrames {
  std::vector<RowRange> rows;  // sorted, apart from each other
  uint64_t confirmed_count = 0;
  uint64_t rejected_count = 0;  // functions whose code could not be followed, or contradicts itself
};

// Follows the code of x86-64 functions from their first instruction, where the return address is on
// top of the stack, along every branch. Believes what it found only where the code itself confirms
// it: all ways to one instruction agree on the frame, and each return finds the stack as it was at
// the start. What cannot be followed so gets no row.
// Shape:  pieces sorted by address and apart from each other, less than 1 GiB together. Functions
//         begin at function_vaddrs (those outside the pieces do not matter), at targets of calls,
//         and, if a return confirms it, after the end of another function. Nobody calls the code at
//         root_vaddr: it gets no rows.
// Cost:   some 100 ms per MiB, whatever the bytes are; memory: 8 bytes per byte of code.
CodeFrames FindCodeFrames(std::span<const CodePiece> pieces,
                          std::span<const uint64_t> function_vaddrs, uint64_t root_vaddr = 0);

}  // namespace vesta::object
