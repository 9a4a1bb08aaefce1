#include "src/agent/unwind/dwarf_walk.h"

#include <optional>

namespace vesta::agent::unwind {
namespace {

using object::FrameRegisters;
using object::RegisterRule;

static_assert(ABI_REGISTER_COUNT <= object::RegisterRules::kColumnCount);

// What the walker's own steps leave known: its three registers, of all those before only `kept`.
void FollowWalker(DwarfWalkState& state, uint64_t kept) {
  state.registers.known &= kept;
  const HostWalk::walk_state& walk = state.walk;
  if (walk.sp_is_bound == 0) state.registers.Set(HostWalk::WALK_REG_SP, walk.sp);
  state.registers.Set(HostWalk::WALK_REG_FP, walk.fp);
  state.registers.Set(HostWalk::WALK_REG_PC, walk.pc);
}

void LoadInterruptedRegisters(DwarfWalkState& state) {
  for (uint64_t column = 0; column < ABI_REGISTER_COUNT; ++column) {
    state.registers.Set(column, state.walk.registers.value[column]);
  }
}

// How the table leaves the frame that the last step emitted.
enum class Leaves { kByRules, kAsWalker, kKeepingRegisters };

Leaves HowToLeave(HostWalk& walk, const HostWalk::walk_state& state, const abi_frame& frame) {
  if (frame.kind != ABI_FRAME_IMAGE || state.table_slot == ABI_TABLE_SLOT_NONE) {
    return Leaves::kAsWalker;
  }
  const auto table = walk.walk_table(state.table_slot);
  uint32_t row = 0;
  uint32_t rules_word = 0;
  if (!table) return Leaves::kByRules;  // no room for it: the file has them as well
  if (walk.walk_find_row(table, frame.address, &row, &rules_word) == 0) {
    return Leaves::kAsWalker;
  }
  constexpr uint32_t kKindMask = (1u << (ABI_ROW_OPERAND_SHIFT - ABI_ROW_KIND_SHIFT)) - 1;
  if ((row >> ABI_ROW_KIND_SHIFT & kKindMask) != ABI_ROW_SPECIAL) return Leaves::kByRules;
  switch (row >> ABI_ROW_OPERAND_SHIFT & ABI_SPECIAL_MASK) {
    case ABI_SPECIAL_UNSUPPORTED:
      return Leaves::kByRules;
    case ABI_SPECIAL_PLT:
      return Leaves::kKeepingRegisters;
    default:
      return Leaves::kAsWalker;
  }
}

bool IsInMemory(const RegisterRule& rule) {
  return rule.kind == RegisterRule::Kind::kAtOffset ||
         rule.kind == RegisterRule::Kind::kAtExpression;
}

// The step by the image's rules; empty when they do not help. `before` is the frame's own state.
std::optional<int> StepByRules(HostWalk& walk, object::FrameFinder& finder,
                               const HostWalk::walk_state& before, const abi_frame& frame,
                               DwarfWalkState& state) {
  const auto found = finder.RulesAt(frame.address);
  if (!found.has_value() || found->is_signal_frame) return std::nullopt;
  const auto read = [&walk](uint64_t address, uint8_t size_bytes) -> std::optional<uint64_t> {
    uint64_t value = 0;
    if (walk.walk_read_user(&value, size_bytes, address) != 0) return std::nullopt;
    return value;
  };
  const object::CallerFrame caller = object::FindCaller(
      finder.architecture(), found->rules, found->return_column, state.registers, read);
  if (caller.is_root) return ABI_STOP_ROOT;
  if (caller.fault == object::FrameFault::kUnreadable) return ABI_STOP_READ_FAULT;
  if (caller.fault != object::FrameFault::kNone) return std::nullopt;
  const RegisterRule& return_rule = found->rules.columns[static_cast<size_t>(found->return_column)];
  if (caller.frame_address < before.sp ||
      (caller.frame_address == before.sp && IsInMemory(return_rule))) {
    return ABI_STOP_SP_NOT_GROWING;
  }
  state.registers = caller.registers;
  state.walk.fallback_count = before.fallback_count;
  const int result = walk.walk_to_caller(
      &state.walk, caller.registers.Get(HostWalk::WALK_REG_SP).value_or(caller.frame_address),
      caller.return_address, caller.registers.Get(HostWalk::WALK_REG_FP).value_or(before.fp));
  state.registers.Set(HostWalk::WALK_REG_PC, state.walk.pc);
  return result;
}

}  // namespace

int DwarfWalkStep(HostWalk& walk, FrameFinderCache& finders, DwarfWalkState& state,
                  abi_frame& frame) {
  if (state.walk.interrupted != 0) {
    LoadInterruptedRegisters(state);
  } else if (state.registers.known == 0) {
    FollowWalker(state, 0);
  }
  const HostWalk::walk_state before = state.walk;
  const int walker_result = walk.walk_step(&state.walk, &frame);
  const Leaves leaves = HowToLeave(walk, state.walk, frame);
  if (leaves == Leaves::kByRules) {
    object::FrameFinder* const finder = finders.Find(frame.image_id);
    if (finder != nullptr) {
      if (const auto result = StepByRules(walk, *finder, before, frame, state)) return *result;
    }
  }
  const bool keeps = leaves == Leaves::kKeepingRegisters;
  if (walker_result == WALK_CONTINUE) {
    FollowWalker(state, keeps ? object::kX86_64Frames.preserved_columns : 0);
  }
  return walker_result;
}

}  // namespace vesta::agent::unwind
