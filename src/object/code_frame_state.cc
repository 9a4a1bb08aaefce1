#include "src/object/code_frame_state.h"

#include "abi/unwind.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

constexpr int32_t kWordBytes = 8;
constexpr int64_t kOffsetMax = 1 << 24;  // beyond that, no code of ours

void SetSpOffset(CodeFrameState& state, int64_t offset) {
  state.sp_known = offset >= -kOffsetMax && offset <= kOffsetMax;
  state.sp_offset = state.sp_known ? static_cast<int32_t>(offset) : 0;
}

void MoveSp(CodeFrameState& state, int64_t by) {
  if (state.sp_known) SetSpOffset(state, state.sp_offset - by);
}

void ForgetSp(CodeFrameState& state) {
  state.sp_known = false;
  state.sp_offset = 0;
}

void ForgetFp(CodeFrameState& state) {
  state.fp_known = false;
  state.fp_offset = 0;
  state.fp_is_callers = false;
}

void PushFp(CodeFrameState& state) {
  MoveSp(state, -kWordBytes);
  if (state.sp_known && state.fp_is_callers && state.fp_slot == 0) state.fp_slot = state.sp_offset;
}

// fp = [CFA - slot]
void LoadFp(CodeFrameState& state, int64_t slot) {
  const bool is_callers = state.sp_known && state.fp_slot != 0 && state.fp_slot == slot;
  ForgetFp(state);
  state.fp_is_callers = is_callers;
}

void PopFp(CodeFrameState& state) {
  LoadFp(state, state.sp_offset);
  MoveSp(state, kWordBytes);
}

void SetFpFromSp(CodeFrameState& state, int32_t value) {
  ForgetFp(state);
  state.fp_known = state.sp_known;
  state.fp_offset = state.sp_known ? state.sp_offset - value : 0;
}

void SetSpFromFp(CodeFrameState& state, int32_t value) {
  if (state.fp_known) {
    SetSpOffset(state, int64_t{state.fp_offset} - value);
  } else {
    ForgetSp(state);
  }
}

// A store may hit the saved frame pointer, or the return address: then the caller is lost.
void NoteStore(CodeFrameState& state, const X86Instruction& instruction) {
  if (instruction.store_base == StoreBase::kNone) return;
  const bool by_sp = instruction.store_base == StoreBase::kSp;
  if (by_sp ? !state.sp_known : !state.fp_known) return;
  const int64_t first =
      int64_t{by_sp ? state.sp_offset : state.fp_offset} - instruction.store_offset;
  const int64_t last = first - instruction.store_bytes;
  const auto hits = [&](int32_t slot) { return first > slot - kWordBytes && last < slot; };
  if (state.fp_slot != 0 && hits(state.fp_slot)) state.fp_slot = 0;
  if (hits(kWordBytes)) {
    ForgetSp(state);
    ForgetFp(state);
    state.fp_slot = 0;
  }
}

}  // namespace

CodeFrameState StateAfter(const CodeFrameState& before, const X86Instruction& instruction) {
  CodeFrameState state = before;
  NoteStore(state, instruction);
  switch (instruction.effect) {
    case FrameEffect::kNone:
      return state;
    case FrameEffect::kPush:
      MoveSp(state, -kWordBytes);
      break;
    case FrameEffect::kPushFp:
      PushFp(state);
      break;
    case FrameEffect::kPop:
      MoveSp(state, kWordBytes);
      break;
    case FrameEffect::kPopFp:
      PopFp(state);
      break;
    case FrameEffect::kAddToSp:
      MoveSp(state, instruction.value);
      break;
    case FrameEffect::kSpFromFp:
      SetSpFromFp(state, instruction.value);
      break;
    case FrameEffect::kFpFromSp:
      SetFpFromSp(state, instruction.value);
      break;
    case FrameEffect::kEnter:
      PushFp(state);
      SetFpFromSp(state, 0);
      MoveSp(state, -int64_t{instruction.value});
      break;
    case FrameEffect::kLeave:
      SetSpFromFp(state, 0);
      PopFp(state);
      break;
    case FrameEffect::kLoadFp:
      LoadFp(state, int64_t{state.sp_offset} - instruction.value);
      break;
    case FrameEffect::kStoreFp:
      if (state.sp_known && state.fp_is_callers && state.fp_slot == 0) {
        const int64_t slot = int64_t{state.sp_offset} - instruction.value;
        if (slot > kWordBytes && slot <= state.sp_offset) {
          state.fp_slot = static_cast<int32_t>(slot);
        }
      }
      break;
    case FrameEffect::kSpUnknown:
      ForgetSp(state);
      break;
    case FrameEffect::kFpUnknown:
      ForgetFp(state);
      break;
    case FrameEffect::kBothUnknown:
      ForgetSp(state);
      ForgetFp(state);
      break;
  }
  // What lies below the stack pointer is no longer kept.
  if (state.sp_known && state.fp_slot > state.sp_offset) state.fp_slot = 0;
  return state;
}

std::optional<CodeFrameState> MergeStates(const CodeFrameState& a, const CodeFrameState& b) {
  CodeFrameState merged = a;
  merged.fp_is_callers = a.fp_is_callers && b.fp_is_callers;
  merged.fp_known = a.fp_known && b.fp_known && a.fp_offset == b.fp_offset;
  if (!merged.fp_known) merged.fp_offset = 0;
  if (a.sp_known && b.sp_known && a.sp_offset != b.sp_offset) return std::nullopt;
  merged.sp_known = a.sp_known && b.sp_known;
  if (!merged.sp_known) merged.sp_offset = 0;
  if (a.fp_slot != b.fp_slot) {
    if (!merged.fp_is_callers) return std::nullopt;
    merged.fp_slot = 0;
  }
  if (!merged.sp_known && !merged.fp_known) return std::nullopt;
  return merged;
}

std::optional<uint32_t> RowBitsOf(const CodeFrameState& state) {
  if (!state.IsSound()) return std::nullopt;
  const auto bits = [&](uint32_t kind, int32_t offset) -> std::optional<uint32_t> {
    const int32_t words = offset / kWordBytes;
    const int32_t slot_words = state.fp_slot / kWordBytes;
    if (offset < kWordBytes || offset % kWordBytes != 0 || state.fp_slot % kWordBytes != 0 ||
        words > ABI_OPERAND_CFA_MASK || slot_words > ABI_OPERAND_FP_MASK) {
      return std::nullopt;
    }
    return RowBits(kind, static_cast<uint32_t>(words) | static_cast<uint32_t>(slot_words)
                                                            << ABI_OPERAND_CFA_BITS);
  };
  if (state.fp_known) {
    if (const auto row = bits(ABI_ROW_FP, state.fp_offset)) return row;
  }
  return state.sp_known ? bits(ABI_ROW_SP, state.sp_offset) : std::nullopt;
}

}  // namespace vesta::object
