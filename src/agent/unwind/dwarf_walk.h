// Steps of a walk over a copied stack that keep all registers: where the unwind table's rule needs
// more than the walker of the kernel follows, the image's own call frame information is applied.
#pragma once

#include <cstdint>

#include "abi/sample.h"
#include "src/agent/unwind/frame_finder_cache.h"
#include "src/agent/unwind/host_walk.h"
#include "src/object/frame_rules.h"

namespace vesta::agent::unwind {

struct DwarfWalkState {
  HostWalk::walk_state walk{};
  // Of the current frame; what is not known there is not set.
  object::FrameRegisters registers;
};

// As HostWalk::walk_step: emits the current frame, moves to its caller, and returns WALK_CONTINUE
// or the reason why this was the last frame. Frames without call frame information (frame pointer
// chains, signal trampolines, PLT stubs, roots) are left as the walker leaves them. After a frame
// pointer chain only the registers that it restores are known. Cost:  a look-up in the image's call
// frame information, about 2 µs; opening an image on first use.
int DwarfWalkStep(HostWalk& walk, FrameFinderCache& finders, DwarfWalkState& state,
                  abi_frame& frame);

}  // namespace vesta::agent::unwind
