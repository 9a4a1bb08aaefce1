// CPU profiles of V8 (Node, Chrome, Deno, ...) -> Profile.
#pragma once

#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Shape: a .cpuprofile: {nodes, samples, timeDeltas, ...}, or with the older {head, timestamps};
//        or a trace of Chrome (an array of events, or {traceEvents}) with Profile and ProfileChunk
//        events, one profile per thread, told apart by the labels pid, tid and thread. Sample types
//        samples/count and, where the file has times, wall/nanoseconds: a sample lasts until the
//        next one. A file without samples has the hit counts of its nodes. positionTicks give the
//        lines of leaves. V8's "(root)" is left out. Scripts are mappings.
// Cost:  two passes over the text, no tree of it; memory as the profile and 16 bytes per sample.
// Errors: Corrupt naming field and byte, or the node: no JSON, ids that are double or of no node,
//         nodes with two parents or none but themselves, negative counts, lists of different
//         lengths. Exhausted: trees of the old form deeper than 5,000 calls; stacks of more than
//         2^27 frames together. Unsupported: a trace without CPU profile.
// Source: Chrome DevTools protocol, domain Profiler, type Profile; docs/formats/cpuprofile.md.
base::Result<profile::Profile> DecodeCpuProfile(std::string_view text);

}  // namespace vesta::wire
