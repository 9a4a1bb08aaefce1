#include "src/agent/unwind/walk_finisher.h"

#include <algorithm>

#include "src/agent/unwind/host_walk.h"

namespace vesta::agent::unwind {

FinishedWalk WalkFinisher::Finish(std::span<const abi_frame> user, const abi_resume& resume,
                                  std::span<const std::byte> stack,
                                  const Callbacks& callbacks) const {
  FinishedWalk finished;
  finished.frames.assign(user.begin(), user.end());
  if (!finished.frames.empty()) finished.frames.pop_back();

  const auto table_of = [this](uint32_t slot) { return kernel_.Table(slot); };
  HostWalk::walk_state state{};
  std::copy(std::begin(resume.registers), std::end(resume.registers), state.registers.value);
  bool knows_all_mappings = false;
  bool starts = true;
  for (;;) {
    const std::span<const abi_mapping> mappings = callbacks.mappings();
    HostWalk walk(stack, resume.stack_address, mappings, table_of);
    if (starts) {
      walk.walk_start(&state, 0, static_cast<uint32_t>(mappings.size()));
      state.pc = resume.pc;
      state.sp = resume.sp;
      state.fp = resume.fp;
      state.interrupted = resume.interrupted != 0 ? 1 : 0;
      starts = false;
    }
    // A refresh may have moved them.
    state.mapping_count = static_cast<uint32_t>(mappings.size());
    state.mapping_end = 0;
    state.knows_all_mappings = knows_all_mappings ? 1 : 0;

    int reason = WALK_CONTINUE;
    HostWalk::walk_state before = state;
    while (reason == WALK_CONTINUE) {
      if (finished.frames.size() >= ABI_USER_FRAMES_MAX) {
        finished.reason = ABI_STOP_DEPTH;
        return finished;
      }
      before = state;
      abi_frame frame{};
      reason = walk.walk_step(&state, &frame);
      finished.frames.push_back(frame);
    }
    // What is missing can perhaps be had: then the last step is taken again.
    if (reason == ABI_STOP_NO_MAPPING && !knows_all_mappings) {
      knows_all_mappings = !callbacks.refresh_mappings();
      finished.frames.pop_back();
      state = before;
    } else if (reason == ABI_STOP_NO_TABLE && state.table_slot != ABI_TABLE_SLOT_NONE &&
               kernel_.Table(state.table_slot).empty() && callbacks.load_table(state.table_slot) &&
               !kernel_.Table(state.table_slot).empty()) {
      finished.frames.pop_back();
      state = before;
    } else {
      finished.reason = static_cast<abi_stop_reason>(reason);
      return finished;
    }
  }
}

}  // namespace vesta::agent::unwind
