// Puts together what is known of one frame's names over time.
#pragma once

#include <cstdint>

#include "src/agent/runtime/runtime.h"

namespace vesta::agent::runtime {

// Adds what held next, unless that is what held before. Shape: era.from_mono_ns not before the
// last.
void AppendEra(FrameEra era, FrameNames& names);

// What `names` say, and before their first era, from `until_mono_ns` on backwards, what `earlier`
// say: code of a process that forked this one.
FrameNames WithEarlier(FrameNames names, const FrameNames& earlier, uint64_t until_mono_ns);

}  // namespace vesta::agent::runtime
