#include "src/object/frame_rules.h"

namespace vesta::object {
namespace {

class RegistersAndMemory final : public FrameView {
 public:
  RegistersAndMemory(const FrameRegisters& registers, const FrameMemory& memory)
      : registers_(registers), memory_(memory) {}
  std::optional<uint64_t> Register(uint64_t column) const override {
    return registers_.Get(column);
  }
  std::optional<uint64_t> Memory(uint64_t address, uint8_t size_bytes) const override {
    return memory_(address, size_bytes);
  }

 private:
  const FrameRegisters& registers_;
  const FrameMemory& memory_;
};

constexpr uint8_t kWordBytes = 8;

FrameValue ValueOr(std::optional<uint64_t> value, FrameFault fault) {
  return value.has_value() ? FrameValue{*value} : FrameValue{0, fault};
}

FrameValue FrameAddress(const FrameAddressRule& rule, const FrameView& view) {
  if (!rule.is_set) return {0, FrameFault::kDamaged};
  if (!rule.expression.empty()) {
    return EvaluateFrameExpression(rule.expression, view, std::nullopt);
  }
  FrameValue base = ValueOr(view.Register(rule.register_column), FrameFault::kUnknownRegister);
  if (base.ok()) base.value += static_cast<uint64_t>(rule.offset);
  return base;
}

FrameValue LoadAt(FrameValue address, const FrameView& view) {
  if (!address.ok()) return address;
  return ValueOr(view.Memory(address.value, kWordBytes), FrameFault::kUnreadable);
}

// The caller's value of a register whose rule says something.
FrameValue CallerValue(const RegisterRule& rule, uint64_t column, uint64_t frame_address,
                       const FrameView& view) {
  using Kind = RegisterRule::Kind;
  switch (rule.kind) {
    case Kind::kSame:
      return ValueOr(view.Register(column), FrameFault::kUnknownRegister);
    case Kind::kAtOffset:
      return LoadAt({frame_address + static_cast<uint64_t>(rule.value)}, view);
    case Kind::kIsOffset:
      return {frame_address + static_cast<uint64_t>(rule.value)};
    case Kind::kRegister:
      return ValueOr(view.Register(static_cast<uint64_t>(rule.value)),
                     FrameFault::kUnknownRegister);
    case Kind::kAtExpression:
      return LoadAt(EvaluateFrameExpression(rule.expression, view, frame_address), view);
    case Kind::kIsExpression:
      return EvaluateFrameExpression(rule.expression, view, frame_address);
    case Kind::kUnspecified:
    case Kind::kUndefined:
      break;
  }
  return {0, FrameFault::kUnknownRegister};
}

}  // namespace

CallerFrame FindCaller(const FrameArchitecture& architecture, const RegisterRules& rules,
                       uint64_t return_column, const FrameRegisters& registers,
                       const FrameMemory& memory) {
  using Kind = RegisterRule::Kind;
  CallerFrame caller;
  const RegistersAndMemory view(registers, memory);
  if (return_column >= rules.columns.size()) {
    caller.fault = FrameFault::kUnsupported;
    return caller;
  }
  RegisterRule return_rule = rules.columns[static_cast<size_t>(return_column)];
  if (return_rule.kind == Kind::kUndefined) {
    caller.is_root = true;
    return caller;
  }
  // A leaf function need not save the register that the call left the return address in.
  if (return_rule.kind == Kind::kUnspecified && architecture.has_link_register) {
    return_rule.kind = Kind::kSame;
  }
  const FrameValue frame_address = FrameAddress(rules.frame_address, view);
  if (!frame_address.ok()) {
    caller.fault = frame_address.fault;
    return caller;
  }
  caller.frame_address = frame_address.value;
  const FrameValue return_address =
      CallerValue(return_rule, return_column, caller.frame_address, view);
  if (!return_address.ok()) {
    caller.fault = return_address.fault;
    return caller;
  }
  caller.return_address = return_address.value;
  for (uint64_t column = 0; column < rules.columns.size(); ++column) {
    RegisterRule rule = rules.columns[static_cast<size_t>(column)];
    if (rule.kind == Kind::kUnspecified) {
      if (column == architecture.stack_pointer_column) {
        rule.kind = Kind::kIsOffset;
      } else if ((architecture.preserved_columns >> column & 1) != 0) {
        rule.kind = Kind::kSame;
      }
    }
    const FrameValue value = CallerValue(rule, column, caller.frame_address, view);
    if (value.ok()) caller.registers.Set(column, value.value);
  }
  caller.registers.Set(return_column, caller.return_address);
  return caller;
}

}  // namespace vesta::object
