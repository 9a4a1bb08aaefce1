// The text that `perf script` prints -> Profile.
#pragma once

#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Shape: samples/count, then one sample type per event, in order of first sight, with the sum of
//        the periods (or the number of samples where perf printed no period). samples/count counts
//        the samples of one event only, since a sum over unlike events says nothing: of the first
//        one that measures time or cycles, else of the first; it is the default type's, too.
//        Labels: process (perf's comm, which is the thread's own name), pid, tid.
//        Consecutive inlined frames and the frame that holds them become one location.
// Units: nanoseconds for cpu-clock and task-clock, else count.
// Errors: Corrupt, naming the line, for what is no line of perf script, for a frame without a
//         header before it, and for UTF-16; Exhausted for more than 64 events.
// Source: docs/formats/perf_script.md.
base::Result<profile::Profile> DecodePerfScript(std::string_view text);

}  // namespace vesta::wire
