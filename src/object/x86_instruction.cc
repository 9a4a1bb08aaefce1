#include "src/object/x86_instruction.h"

#include <Zydis/Decoder.h>
#include <Zydis/Register.h>

#include <array>

namespace vesta::object {
namespace {

using Operand = ZydisDecodedOperand;

bool IsRegister(const Operand& operand, ZydisRegister reg) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == reg;
}

bool IsImmediate(const Operand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE; }

// [base + displacement] and nothing else.
bool IsPlace(const Operand& operand, ZydisRegister base) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == base &&
         operand.mem.index == ZYDIS_REGISTER_NONE &&
         (operand.mem.segment == ZYDIS_REGISTER_SS || operand.mem.segment == ZYDIS_REGISTER_DS);
}

int32_t Displacement(const Operand& operand) {
  return static_cast<int32_t>(operand.mem.disp.value);
}

bool Writes(const Operand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

bool WritesRegister(const Operand& operand, ZydisRegister reg) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && Writes(operand) &&
         ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value) == reg;
}

class Reading {
 public:
  Reading(const ZydisDecodedInstruction& instruction, std::span<const Operand> operands)
      : instruction_(instruction), operands_(operands) {}

  // Empty for what no program of ours may do.
  std::optional<X86Instruction> Read() {
    result_.length_bytes = instruction_.length;
    if (!ReadFlow()) return std::nullopt;
    ReadEffect();
    ReadStores();
    ReadPointer();
    return result_;
  }

 private:
  bool ReadTarget() {
    const Operand& target = operands_[0];
    if (!IsImmediate(target) || !target.imm.is_relative) return false;
    result_.has_target = true;
    result_.target_offset = target.imm.value.s + instruction_.length;
    return true;
  }

  bool ReadFlow() {
    switch (instruction_.meta.category) {
      case ZYDIS_CATEGORY_COND_BR:
        result_.flow = CodeFlow::kBranch;
        return ReadTarget();
      case ZYDIS_CATEGORY_UNCOND_BR:
        if (instruction_.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return false;
        result_.flow = CodeFlow::kJump;
        if (ReadTarget()) return true;
        result_.flow = IsPlace(operands_[0], ZYDIS_REGISTER_RIP) ? CodeFlow::kJumpByTable
                                                                 : CodeFlow::kJumpElsewhere;
        return true;
      case ZYDIS_CATEGORY_CALL:
        if (instruction_.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return false;
        result_.flow = CodeFlow::kCall;
        ReadTarget();
        return true;
      case ZYDIS_CATEGORY_RET:
        result_.flow = CodeFlow::kReturn;
        return instruction_.mnemonic == ZYDIS_MNEMONIC_RET &&
               instruction_.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR;
      case ZYDIS_CATEGORY_NOP:
      case ZYDIS_CATEGORY_WIDENOP:
        result_.is_padding = instruction_.mnemonic == ZYDIS_MNEMONIC_NOP;
        return true;
      default:
        break;
    }
    switch (instruction_.mnemonic) {
      case ZYDIS_MNEMONIC_INT3:
        result_.is_padding = true;
        [[fallthrough]];
      case ZYDIS_MNEMONIC_UD0:
      case ZYDIS_MNEMONIC_UD1:
      case ZYDIS_MNEMONIC_UD2:
      case ZYDIS_MNEMONIC_HLT:
        result_.flow = CodeFlow::kStop;
        return true;
      case ZYDIS_MNEMONIC_XBEGIN:
        result_.flow = CodeFlow::kBranch;
        return ReadTarget();
      case ZYDIS_MNEMONIC_SYSRET:
      case ZYDIS_MNEMONIC_IRETQ:
        return false;
      default:
        return true;
    }
  }

  void Set(FrameEffect effect, int64_t value = 0) {
    result_.effect = effect;
    result_.value = static_cast<int32_t>(value);
  }

  // Those that are understood; false for any other one.
  bool ReadKnownEffect() {
    const Operand& to = operands_[0];
    const Operand& from = operands_[1];
    const bool has_two = instruction_.operand_count_visible == 2;
    switch (instruction_.mnemonic) {
      case ZYDIS_MNEMONIC_PUSH:
        if (instruction_.operand_width != 64) return false;
        Set(IsRegister(to, ZYDIS_REGISTER_RBP) ? FrameEffect::kPushFp : FrameEffect::kPush);
        return true;
      case ZYDIS_MNEMONIC_PUSHFQ:
        Set(FrameEffect::kPush);
        return true;
      case ZYDIS_MNEMONIC_POP:
        if (instruction_.operand_width != 64 || IsRegister(to, ZYDIS_REGISTER_RSP)) return false;
        Set(IsRegister(to, ZYDIS_REGISTER_RBP) ? FrameEffect::kPopFp : FrameEffect::kPop);
        return true;
      case ZYDIS_MNEMONIC_POPFQ:
        Set(FrameEffect::kPop);
        return true;
      case ZYDIS_MNEMONIC_LEAVE:
        if (instruction_.operand_width != 64) return false;
        Set(FrameEffect::kLeave);
        return true;
      case ZYDIS_MNEMONIC_ENTER:
        if (instruction_.operand_width != 64 || from.imm.value.u != 0) return false;
        Set(FrameEffect::kEnter, static_cast<int64_t>(to.imm.value.u));
        return true;
      case ZYDIS_MNEMONIC_ADD:
      case ZYDIS_MNEMONIC_SUB: {
        if (!has_two || !IsRegister(to, ZYDIS_REGISTER_RSP) || !IsImmediate(from)) return false;
        const int64_t by = from.imm.value.s;
        Set(FrameEffect::kAddToSp, instruction_.mnemonic == ZYDIS_MNEMONIC_ADD ? by : -by);
        return true;
      }
      case ZYDIS_MNEMONIC_LEA:
        return ReadAddress(to, from);
      case ZYDIS_MNEMONIC_MOV:
        return ReadMove(to, from);
      default:
        return false;
    }
  }

  bool ReadAddress(const Operand& to, const Operand& from) {
    // lea has no segment; the decoder gives the base's.
    const bool is_plain = from.mem.index == ZYDIS_REGISTER_NONE;
    if (!is_plain) return false;
    if (IsRegister(to, ZYDIS_REGISTER_RSP)) {
      if (from.mem.base == ZYDIS_REGISTER_RSP) {
        Set(FrameEffect::kAddToSp, Displacement(from));
      } else if (from.mem.base == ZYDIS_REGISTER_RBP) {
        Set(FrameEffect::kSpFromFp, Displacement(from));
      } else {
        return false;
      }
      return true;
    }
    if (!IsRegister(to, ZYDIS_REGISTER_RBP) || from.mem.base != ZYDIS_REGISTER_RSP) return false;
    Set(FrameEffect::kFpFromSp, Displacement(from));
    return true;
  }

  bool ReadMove(const Operand& to, const Operand& from) {
    if (IsRegister(to, ZYDIS_REGISTER_RBP) && IsRegister(from, ZYDIS_REGISTER_RSP)) {
      Set(FrameEffect::kFpFromSp);
    } else if (IsRegister(to, ZYDIS_REGISTER_RSP) && IsRegister(from, ZYDIS_REGISTER_RBP)) {
      Set(FrameEffect::kSpFromFp);
    } else if (IsRegister(to, ZYDIS_REGISTER_RBP) && IsPlace(from, ZYDIS_REGISTER_RSP)) {
      Set(FrameEffect::kLoadFp, Displacement(from));
    } else if (IsPlace(to, ZYDIS_REGISTER_RSP) && IsRegister(from, ZYDIS_REGISTER_RBP)) {
      Set(FrameEffect::kStoreFp, Displacement(to));
    } else {
      return false;
    }
    return true;
  }

  void ReadEffect() {
    if (result_.flow == CodeFlow::kCall || result_.flow == CodeFlow::kReturn) return;
    if (ReadKnownEffect()) return;
    bool writes_sp = false;
    bool writes_fp = false;
    for (const Operand& operand : operands_) {
      writes_sp = writes_sp || WritesRegister(operand, ZYDIS_REGISTER_RSP);
      writes_fp = writes_fp || WritesRegister(operand, ZYDIS_REGISTER_RBP);
    }
    if (writes_sp && writes_fp) {
      Set(FrameEffect::kBothUnknown);
    } else if (writes_sp) {
      Set(FrameEffect::kSpUnknown);
    } else if (writes_fp) {
      Set(FrameEffect::kFpUnknown);
    }
  }

  void ReadStores() {
    for (const Operand& operand : operands_.first(instruction_.operand_count_visible)) {
      if (!Writes(operand)) continue;
      if (IsPlace(operand, ZYDIS_REGISTER_RSP)) {
        result_.store_base = StoreBase::kSp;
      } else if (IsPlace(operand, ZYDIS_REGISTER_RBP)) {
        result_.store_base = StoreBase::kFp;
      } else {
        continue;
      }
      result_.store_offset = Displacement(operand);
      result_.store_bytes = operand.size / 8u;
      return;
    }
  }

  void ReadPointer() {
    const Operand& from = operands_[1];
    if (instruction_.mnemonic == ZYDIS_MNEMONIC_LEA && from.mem.base == ZYDIS_REGISTER_RIP) {
      result_.has_pointer = true;
      result_.pointer_is_relative = true;
      result_.pointer = from.mem.disp.value + instruction_.length;
    } else if (instruction_.mnemonic == ZYDIS_MNEMONIC_MOV && IsImmediate(from) &&
               operands_[0].size >= 32) {
      result_.has_pointer = true;
      result_.pointer = from.imm.value.s;
    }
  }

  const ZydisDecodedInstruction& instruction_;
  std::span<const Operand> operands_;
  X86Instruction result_;
};

}  // namespace

struct X86Decoder::Library {
  ZydisDecoder decoder;
};

X86Decoder::X86Decoder() : library_(std::make_unique<Library>()) {
  ZydisDecoderInit(&library_->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

X86Decoder::~X86Decoder() = default;

std::optional<X86Instruction> X86Decoder::Decode(std::span<const std::byte> code) const {
  ZydisDecodedInstruction instruction;
  std::array<Operand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&library_->decoder, code.data(), code.size(),
                                           &instruction, operands.data()))) {
    return std::nullopt;
  }
  return Reading(instruction, std::span(operands).first(instruction.operand_count)).Read();
}

}  // namespace vesta::object
