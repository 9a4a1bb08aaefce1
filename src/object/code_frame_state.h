// What is known of a frame at one instruction, and how instructions change it.
#pragma once

#include <cstdint>
#include <optional>

#include "src/object/x86_instruction.h"

namespace vesta::object {

// The frame address (CFA) lies above the return address; all distances are bytes down from it, or
// from a register up to it.
struct CodeFrameState {
  int32_t sp_offset = 8;  // CFA = sp + sp_offset
  int32_t fp_offset = 0;  // CFA = fp + fp_offset
  int32_t fp_slot = 0;    // the caller's frame pointer lies at CFA - fp_slot; 0: nowhere
  bool sp_known = true;
  bool fp_known = false;
  bool fp_is_callers = true;  // the register still has the caller's value, or has it again

  friend bool operator==(const CodeFrameState&, const CodeFrameState&) = default;
  friend auto operator<=>(const CodeFrameState&, const CodeFrameState&) = default;

  // The stack is as it was at the function's first instruction: what a return needs.
  bool IsAtEntry() const { return sp_known && sp_offset == 8 && fp_is_callers; }
  // The caller can be found.
  bool IsSound() const {
    return (sp_known || fp_known) && (fp_is_callers || fp_slot != 0) &&
           (!sp_known || sp_offset >= 8);
  }
};

// Shape: calls change nothing: a callee gives back what it found.
CodeFrameState StateAfter(const CodeFrameState& state, const X86Instruction& instruction);

// What holds on both of two ways to one place; empty when they contradict each other.
std::optional<CodeFrameState> MergeStates(const CodeFrameState& a, const CodeFrameState& b);

// The row of abi/unwind.h without its address; empty when the state does not fit one.
std::optional<uint32_t> RowBitsOf(const CodeFrameState& state);

}  // namespace vesta::object
