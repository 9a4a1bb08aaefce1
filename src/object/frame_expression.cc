#include "src/object/frame_expression.h"

#include <array>
#include <limits>

#include "src/base/byte_reader.h"

namespace vesta::object {
namespace {

// Source: DWARF 5 section 7.7.1.
enum Operation : uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstU = 0x10,
  kConstS = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kRot = 0x17,
  kAbs = 0x19,
  kAnd = 0x1a,
  kDiv = 0x1b,
  kMinus = 0x1c,
  kMod = 0x1d,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShiftLeft = 0x24,
  kShiftRight = 0x25,
  kShiftRightSigned = 0x26,
  kXor = 0x27,
  kBra = 0x28,
  kEqual = 0x29,
  kGreaterOrEqual = 0x2a,
  kGreater = 0x2b,
  kLessOrEqual = 0x2c,
  kLess = 0x2d,
  kNotEqual = 0x2e,
  kSkip = 0x2f,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
  kDerefSize = 0x94,
  kNop = 0x96,
  kCallFrameCfa = 0x9c,
};

constexpr size_t kStackMax = 64;
constexpr int kOperationsMax = 4096;
constexpr uint8_t kAddressBytes = 8;

int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t Unsigned(int64_t value) { return static_cast<uint64_t>(value); }

// One evaluation. Every method that fails sets fault_, and the run ends.
class Evaluator {
 public:
  Evaluator(std::span<const std::byte> expression, const FrameView& view,
            std::optional<uint64_t> frame_address)
      : reader_(expression), view_(view), frame_address_(frame_address) {}

  FrameValue Run() {
    if (frame_address_.has_value()) Push(*frame_address_);
    int operations_left = kOperationsMax;
    while (fault_ == FrameFault::kNone && !reader_.AtEnd()) {
      if (operations_left-- == 0) Fail(FrameFault::kDamaged);
      Execute(reader_.Read<uint8_t>());
      if (!reader_.ok()) Fail(FrameFault::kDamaged);
    }
    const uint64_t value = Pop();
    return {fault_ == FrameFault::kNone ? value : 0, fault_};
  }

 private:
  void Fail(FrameFault fault) {
    if (fault_ == FrameFault::kNone) fault_ = fault;
  }
  void Push(uint64_t value) {
    if (size_ == kStackMax) return Fail(FrameFault::kDamaged);
    stack_[size_++] = value;
  }
  uint64_t Pop() {
    if (size_ == 0) {
      Fail(FrameFault::kDamaged);
      return 0;
    }
    return stack_[--size_];
  }
  // The value that is `depth` below the top.
  void Pick(size_t depth) {
    if (depth >= size_) return Fail(FrameFault::kDamaged);
    Push(stack_[size_ - 1 - depth]);
  }
  void PushRegister(uint64_t column, int64_t offset) {
    const auto value = view_.Register(column);
    if (!value.has_value()) return Fail(FrameFault::kUnknownRegister);
    Push(*value + Unsigned(offset));
  }
  void Dereference(uint8_t size_bytes) {
    if (size_bytes == 0 || size_bytes > kAddressBytes) return Fail(FrameFault::kDamaged);
    const uint64_t address = Pop();
    if (fault_ != FrameFault::kNone) return;
    const auto value = view_.Memory(address, size_bytes);
    if (!value.has_value()) return Fail(FrameFault::kUnreadable);
    Push(*value);
  }
  // Counts from behind its operand.
  void Jump(int16_t offset) {
    const auto target = static_cast<int64_t>(reader_.position()) + offset;
    if (target < 0) return Fail(FrameFault::kDamaged);
    reader_.Seek(static_cast<size_t>(target));
  }
  void Rotate() {
    if (size_ < 3) return Fail(FrameFault::kDamaged);
    const uint64_t top = stack_[size_ - 1];
    stack_[size_ - 1] = stack_[size_ - 2];
    stack_[size_ - 2] = stack_[size_ - 3];
    stack_[size_ - 3] = top;
  }

  void Execute(uint8_t operation);
  bool ExecuteConstant(uint8_t operation);
  bool ExecuteStack(uint8_t operation);
  bool ExecuteUnary(uint8_t operation);
  bool ExecuteBinary(uint8_t operation);
  void Divide(uint8_t operation, uint64_t left, uint64_t right);

  base::ByteReader reader_;
  const FrameView& view_;
  std::optional<uint64_t> frame_address_;
  std::array<uint64_t, kStackMax> stack_{};
  size_t size_ = 0;
  FrameFault fault_ = FrameFault::kNone;
};

void Evaluator::Execute(uint8_t operation) {
  if (operation >= kLit0 && operation <= kLit31) return Push(operation - uint64_t{kLit0});
  if (operation >= kBreg0 && operation <= kBreg31) {
    return PushRegister(operation - uint64_t{kBreg0}, reader_.ReadSleb128());
  }
  if (ExecuteConstant(operation) || ExecuteStack(operation) || ExecuteUnary(operation) ||
      ExecuteBinary(operation)) {
    return;
  }
  switch (operation) {
    case kNop:
      return;
    case kBregx: {
      const uint64_t column = reader_.ReadUleb128();
      return PushRegister(column, reader_.ReadSleb128());
    }
    case kDeref:
      return Dereference(kAddressBytes);
    case kDerefSize:
      return Dereference(reader_.Read<uint8_t>());
    case kCallFrameCfa:
      // Inside the rule for the frame address itself it would mean itself.
      if (!frame_address_.has_value()) return Fail(FrameFault::kDamaged);
      return Push(*frame_address_);
    case kSkip:
      return Jump(reader_.Read<int16_t>());
    case kBra: {
      const auto offset = reader_.Read<int16_t>();
      if (Pop() != 0) Jump(offset);
      return;
    }
    default:
      return Fail(FrameFault::kUnsupported);
  }
}

bool Evaluator::ExecuteConstant(uint8_t operation) {
  switch (operation) {
    case kConst1u:
      Push(reader_.Read<uint8_t>());
      return true;
    case kConst1s:
      Push(Unsigned(reader_.Read<int8_t>()));
      return true;
    case kConst2u:
      Push(reader_.Read<uint16_t>());
      return true;
    case kConst2s:
      Push(Unsigned(reader_.Read<int16_t>()));
      return true;
    case kConst4u:
      Push(reader_.Read<uint32_t>());
      return true;
    case kConst4s:
      Push(Unsigned(reader_.Read<int32_t>()));
      return true;
    case kConst8u:
    case kConst8s:
      Push(reader_.Read<uint64_t>());
      return true;
    case kConstU:
      Push(reader_.ReadUleb128());
      return true;
    case kConstS:
      Push(Unsigned(reader_.ReadSleb128()));
      return true;
    default:
      return false;
  }
}

bool Evaluator::ExecuteStack(uint8_t operation) {
  switch (operation) {
    case kDup:
      Pick(0);
      return true;
    case kOver:
      Pick(1);
      return true;
    case kPick:
      Pick(reader_.Read<uint8_t>());
      return true;
    case kDrop:
      Pop();
      return true;
    case kSwap: {
      const uint64_t top = Pop();
      const uint64_t second = Pop();
      Push(top);
      Push(second);
      return true;
    }
    case kRot:
      Rotate();
      return true;
    default:
      return false;
  }
}

bool Evaluator::ExecuteUnary(uint8_t operation) {
  switch (operation) {
    case kAbs: {
      const uint64_t value = Pop();
      Push(Signed(value) < 0 ? 0 - value : value);
      return true;
    }
    case kNeg:
      Push(0 - Pop());
      return true;
    case kNot:
      Push(~Pop());
      return true;
    case kPlusUconst: {
      const uint64_t value = Pop();
      Push(value + reader_.ReadUleb128());
      return true;
    }
    default:
      return false;
  }
}

// Division is signed, the remainder is not; C++ leaves two cases undefined.
void Evaluator::Divide(uint8_t operation, uint64_t left, uint64_t right) {
  if (right == 0) return Fail(FrameFault::kDamaged);
  if (operation == kMod) return Push(left % right);
  if (Signed(left) == std::numeric_limits<int64_t>::min() && Signed(right) == -1) return Push(left);
  Push(Unsigned(Signed(left) / Signed(right)));
}

bool Evaluator::ExecuteBinary(uint8_t operation) {
  const bool is_binary = (operation >= kAnd && operation <= kXor && operation != kNeg &&
                          operation != kNot && operation != kPlusUconst) ||
                         (operation >= kEqual && operation <= kNotEqual);
  if (!is_binary) return false;
  const uint64_t right = Pop();
  const uint64_t left = Pop();
  // Shifting everything out is defined here, unlike in C++.
  const bool shifts_all = right >= 64;
  switch (operation) {
    case kAnd:
      Push(left & right);
      break;
    case kOr:
      Push(left | right);
      break;
    case kXor:
      Push(left ^ right);
      break;
    case kPlus:
      Push(left + right);
      break;
    case kMinus:
      Push(left - right);
      break;
    case kMul:
      Push(left * right);
      break;
    case kShiftLeft:
      Push(shifts_all ? 0 : left << right);
      break;
    case kShiftRight:
      Push(shifts_all ? 0 : left >> right);
      break;
    case kShiftRightSigned:
      Push(Unsigned(Signed(left) >> (shifts_all ? 63 : right)));
      break;
    case kEqual:
      Push(left == right ? 1 : 0);
      break;
    case kNotEqual:
      Push(left != right ? 1 : 0);
      break;
    case kGreaterOrEqual:
      Push(Signed(left) >= Signed(right) ? 1 : 0);
      break;
    case kGreater:
      Push(Signed(left) > Signed(right) ? 1 : 0);
      break;
    case kLessOrEqual:
      Push(Signed(left) <= Signed(right) ? 1 : 0);
      break;
    case kLess:
      Push(Signed(left) < Signed(right) ? 1 : 0);
      break;
    default:
      Divide(operation, left, right);
      break;
  }
  return true;
}

}  // namespace

FrameValue EvaluateFrameExpression(std::span<const std::byte> expression, const FrameView& view,
                                   std::optional<uint64_t> frame_address) {
  return Evaluator(expression, view, frame_address).Run();
}

}  // namespace vesta::object
