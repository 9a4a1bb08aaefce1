// Recordings of `perf record -g` (perf.data) -> Profile of addresses.
#pragma once

#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Shape: samples/count and one sample type per event, as DecodePerfScript has them. No location has
//        lines: addresses are those of the process, in mappings with path, file offset and, where
//        perf knew it, build id; symbolize/name_profile.h names them. Callers' addresses are return
//        addresses less one, so that all of them are looked up as they stand. The kernel's mapping
//        is "[kernel]"; its file offset is where the recording's kernel had its start.
//        Labels: process (comm of the process), thread, pid, tid.
// Errors: as PerfData; Unsupported for --call-graph dwarf, whose stacks only perf can walk, with
//         the way to do it; Exhausted for more mappings than a machine has.
// Source: docs/formats/perf_data.md.
base::Result<profile::Profile> DecodePerfData(std::string_view bytes);

// Whether DecodePerfData made it, now or before it went through a pprof file: then addresses may be
// looked up as they stand.
bool IsOfPerfData(const profile::Profile& profile);

}  // namespace vesta::wire
