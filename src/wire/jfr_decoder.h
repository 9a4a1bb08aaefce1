// Java Flight Recorder files, also those of async-profiler -> Profile.
#pragma once

#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Shape: a sample type for each kind of event that the file holds, in this order:
//        samples/count and cpu/nanoseconds of jdk.ExecutionSample (the latter when the file tells
//        the time between two samples), native_samples/count of jdk.NativeMethodSample,
//        wall_samples/count and wall/nanoseconds of profiler.WallClockSample, alloc_space/bytes of
//        jdk.ObjectAllocationSample, else of ...InNewTLAB and ...OutsideTLAB,
//        contentions/count and delay/nanoseconds of jdk.JavaMonitorEnter.
//        Functions are named "package.Class.method"; labels: thread, tid, thread_state,
//        incomplete where the JVM cut the stack at its depth.
//        Inlined methods and the method that holds them become one location.
// Errors: Corrupt for what does not follow the format or is cut off, Unavailable for a file that
//         its JVM is still writing, Unsupported for another version; all name the chunk.
// Source: docs/formats/jfr.md.
base::Result<profile::Profile> DecodeJfr(std::string_view bytes);

}  // namespace vesta::wire
