// What call frame information means on one machine: which register is which. Registers carry their
// DWARF numbers, "columns" of the rules' table.
#pragma once

#include <cstdint>
#include <optional>

#include "src/object/elf_file.h"

namespace vesta::object {

// Source: psABI of x86-64, figure 3.36; "DWARF for the Arm 64-bit Architecture", section 4.1.
struct FrameArchitecture {
  Machine machine = Machine::kOther;
  uint8_t frame_pointer_column = 0;
  uint8_t stack_pointer_column = 0;
  uint8_t return_column = 0;
  // Columns below are registers that an interrupted frame knows.
  uint8_t register_count = 0;
  // A call leaves the return address in the register of its column, not on the stack.
  bool has_link_register = false;
  // A bit per register that functions give back as they found it.
  uint64_t preserved_columns = 0;
};

// rbx, rbp, r12..r15; x19..x29.
inline constexpr FrameArchitecture kX86_64Frames{Machine::kX86_64, 6, 7, 16, 16, false, 0xf048};
inline constexpr FrameArchitecture kArm64Frames{Machine::kArm64, 29, 31, 30, 32, true, 0x3ff80000};

// Empty for machines that cannot be unwound.
constexpr std::optional<FrameArchitecture> FrameArchitectureOf(Machine machine) {
  switch (machine) {
    case Machine::kX86_64:
      return kX86_64Frames;
    case Machine::kArm64:
      return kArm64Frames;
    default:
      return std::nullopt;
  }
}

}  // namespace vesta::object
