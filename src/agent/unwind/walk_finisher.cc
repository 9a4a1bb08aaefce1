#include "src/agent/unwind/walk_finisher.h"

#include <algorithm>

#include "src/agent/unwind/dwarf_walk.h"
#include "src/agent/unwind/host_walk.h"

namespace vesta::agent::unwind {

std::span<const abi_frame> WithoutWrongGuess(std::span<const abi_frame> user,
                                             abi_stop_reason& reason) {
  if (reason != ABI_STOP_NO_MAPPING || user.empty() ||
      (user.back().flags & ABI_FRAME_GUESSED) == 0) {
    return user;
  }
  reason = ABI_STOP_NO_RULE;
  return user.first(user.size() - 1);
}

FinishedWalk WalkFinisher::Finish(std::span<const abi_frame> user, const abi_resume& resume,
                                  std::span<const std::byte> stack,
                                  const Callbacks& callbacks) const {
  FinishedWalk finished = Walk(Steps::kByTables, user, resume, stack, callbacks);
  if (finished.reason == ABI_STOP_RULE_UNSUPPORTED || finished.reason == ABI_STOP_NO_TABLE) {
    finished = Walk(Steps::kWithAllRegisters, user, resume, stack, callbacks);
    finished.used_all_registers = true;
  }
  return finished;
}

FinishedWalk WalkFinisher::Walk(Steps steps, std::span<const abi_frame> user,
                                const abi_resume& resume, std::span<const std::byte> stack,
                                const Callbacks& callbacks) const {
  FinishedWalk finished;
  const auto kept = user.first(std::min<size_t>(resume.frame_index, user.size()));
  finished.frames.assign(kept.begin(), kept.end());

  const auto table_of = [this](uint32_t slot) { return kernel_.Table(slot); };
  DwarfWalkState state;
  std::copy(std::begin(resume.registers), std::end(resume.registers), state.walk.registers.value);
  bool knows_all_mappings = false;
  bool starts = true;
  for (;;) {
    const std::span<const abi_mapping> mappings = callbacks.mappings();
    HostWalk walk(stack, resume.stack_address, mappings, table_of);
    if (starts) {
      walk.walk_start(&state.walk, 0, static_cast<uint32_t>(mappings.size()));
      state.walk.pc = resume.pc;
      state.walk.sp = resume.sp;
      state.walk.fp = resume.fp;
      state.walk.interrupted = resume.interrupted != 0 ? 1 : 0;
      starts = false;
    }
    // A refresh may have moved them.
    state.walk.mapping_count = static_cast<uint32_t>(mappings.size());
    state.walk.mapping_end = 0;
    state.walk.knows_all_mappings = knows_all_mappings ? 1 : 0;

    int reason = WALK_CONTINUE;
    DwarfWalkState before = state;
    while (reason == WALK_CONTINUE) {
      if (finished.frames.size() >= ABI_USER_FRAMES_MAX) {
        finished.reason = ABI_STOP_DEPTH;
        return finished;
      }
      before = state;
      abi_frame frame{};
      reason = steps == Steps::kByTables ? walk.walk_step(&state.walk, &frame)
                                         : DwarfWalkStep(walk, finders_, state, frame);
      finished.frames.push_back(frame);
    }
    // What is missing can perhaps be had: then the last step is taken again.
    if (reason == ABI_STOP_NO_MAPPING && !knows_all_mappings) {
      knows_all_mappings = !callbacks.refresh_mappings();
      finished.frames.pop_back();
      state = before;
    } else if (reason == ABI_STOP_NO_TABLE && state.walk.table_slot != ABI_TABLE_SLOT_NONE &&
               kernel_.Table(state.walk.table_slot).empty() &&
               callbacks.load_table(state.walk.table_slot) &&
               !kernel_.Table(state.walk.table_slot).empty()) {
      finished.frames.pop_back();
      state = before;
    } else {
      finished.reason = static_cast<abi_stop_reason>(reason);
      return finished;
    }
  }
}

}  // namespace vesta::agent::unwind
