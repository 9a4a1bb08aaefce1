// Evaluates the DWARF expressions that occur in call frame information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace vesta::object {

// What rules of one frame can ask for. Implementations give what they know and nothing else.
class FrameView {
 public:
  virtual ~FrameView() = default;
  // The value of a register in this frame; empty when it is not known.
  virtual std::optional<uint64_t> Register(uint64_t column) const = 0;
  // size_bytes (1..8) little-endian bytes of memory; empty when they cannot be read.
  virtual std::optional<uint64_t> Memory(uint64_t address, uint8_t size_bytes) const = 0;
};

enum class FrameFault : uint8_t {
  kNone,
  kUnsupported,      // an operation that has no meaning in call frame information
  kDamaged,          // the bytes end, the stack runs empty or over, or it does not come to an end
  kUnknownRegister,  // a register that is needed is not known in this frame
  kUnreadable,       // memory that is needed cannot be read
};

struct FrameValue {
  uint64_t value = 0;
  FrameFault fault = FrameFault::kNone;
  bool ok() const { return fault == FrameFault::kNone; }
};

// Shape:  frame_address is what rules of registers start with on the stack; an expression for the
//         frame address itself starts with an empty one.
// Cost:   at most 4096 operations, and 64 values on the stack.
// Source: DWARF 5 sections 2.5 and 6.4.2.3 (what must not occur in call frame information).
FrameValue EvaluateFrameExpression(std::span<const std::byte> expression, const FrameView& view,
                                   std::optional<uint64_t> frame_address);

}  // namespace vesta::object
