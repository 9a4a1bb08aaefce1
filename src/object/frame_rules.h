// Applies the rules of call frame information to the registers of a frame: all of them, so that
// those a caller's rule needs stay known from frame to frame.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "src/object/eh_frame_program.h"
#include "src/object/frame_architecture.h"
#include "src/object/frame_expression.h"

namespace vesta::object {

// General registers by their DWARF numbers; on x86-64, [16] is the instruction pointer.
struct FrameRegisters {
  std::array<uint64_t, RegisterRules::kColumnCount> value{};
  uint64_t known = 0;  // a bit per column

  std::optional<uint64_t> Get(uint64_t column) const {
    if (column >= value.size() || (known >> column & 1) == 0) return std::nullopt;
    return value[static_cast<size_t>(column)];
  }
  void Set(uint64_t column, uint64_t new_value) {
    value[static_cast<size_t>(column)] = new_value;
    known |= uint64_t{1} << column;
  }
};

// Reads size_bytes (1..8) of memory as a little-endian number; empty when they cannot be read.
using FrameMemory = std::function<std::optional<uint64_t>(uint64_t address, uint8_t size_bytes)>;

// The frame that called.
struct CallerFrame {
  FrameFault fault = FrameFault::kNone;
  bool is_root = false;  // there is no caller; the rest is not set
  uint64_t frame_address = 0;
  uint64_t return_address = 0;
  // What is not known of the caller is not set: registers that calls do not preserve, those that
  // lie where memory cannot be read, or whose own rule cannot be applied.
  FrameRegisters registers;
};

// Shape:  return_column as the entry's CIE says.
// Errors: the fault, when the frame address or the return address cannot be had.
// Source: DWARF 5 section 6.4.1; which registers a call preserves: the psABI of each machine.
CallerFrame FindCaller(const FrameArchitecture& architecture, const RegisterRules& rules,
                       uint64_t return_column, const FrameRegisters& registers,
                       const FrameMemory& memory);

}  // namespace vesta::object
