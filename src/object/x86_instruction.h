// One instruction of x86-64 machine code, as far as it matters for finding a frame's caller: where
// the code goes on, and what it does to the stack pointer and the frame pointer. The only code that
// sees the decoder library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace vesta::object {

enum class CodeFlow : uint8_t {
  kNext,
  kCall,           // and on after it, unless the callee never returns
  kBranch,         // to the target, or on
  kJump,           // to the target
  kJumpElsewhere,  // to an address that the code computes
  kJumpByTable,    // to an address that lies in memory at a fixed place: a linked function
  kReturn,
  kStop,  // a trap
};

enum class FrameEffect : uint8_t {
  kNone,
  kPush,
  kPushFp,
  kPop,
  kPopFp,
  kAddToSp,   // sp += value
  kSpFromFp,  // sp = fp + value
  kFpFromSp,  // fp = sp + value
  kEnter,     // value: bytes below the new frame pointer
  kLeave,
  kLoadFp,     // fp = [sp + value]
  kStoreFp,    // [sp + value] = fp
  kSpUnknown,  // something else is written to it
  kFpUnknown,
  kBothUnknown,
};

enum class StoreBase : uint8_t { kNone, kSp, kFp };

struct X86Instruction {
  uint8_t length_bytes = 0;
  CodeFlow flow = CodeFlow::kNext;
  FrameEffect effect = FrameEffect::kNone;
  bool is_padding = false;  // does nothing, or stands where nothing goes on
  bool has_target = false;
  int32_t value = 0;
  int64_t target_offset = 0;  // from the start of this instruction
  // A constant that may be the address of a function: from the start of this instruction, or not.
  bool has_pointer = false;
  bool pointer_is_relative = false;
  int64_t pointer = 0;
  // Memory that it writes at a fixed distance from a register.
  StoreBase store_base = StoreBase::kNone;
  int32_t store_offset = 0;
  uint32_t store_bytes = 0;
};

class X86Decoder {
 public:
  X86Decoder();
  ~X86Decoder();
  X86Decoder(const X86Decoder&) = delete;
  X86Decoder& operator=(const X86Decoder&) = delete;

  // Empty when the bytes do not begin with an instruction that programs may use.
  // Cost: 150 ns, no allocation.
  std::optional<X86Instruction> Decode(std::span<const std::byte> code) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace vesta::object
