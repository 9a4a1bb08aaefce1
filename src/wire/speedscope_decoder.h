// speedscope's JSON -> Profile.
#pragma once

#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Shape: every profile of the file, `sampled` or `evented`, members in any order. Profiles of one
//        unit share a sample type: samples/count for none, space/bytes for bytes, time/nanoseconds
//        for all units of time; if the file has several profiles, their samples carry the label
//        "profile" with the profile's name. Files that vesta wrote get back their sample types,
//        binaries, and processes (docs/formats/speedscope.md).
// Units: times become nanoseconds, rounded once; a comment in the header says what rounding lost.
//        Weights of 0 are left out.
// Cost:  two passes over the text, no tree of it; memory as the profile.
// Errors: Corrupt naming field and byte: no JSON, indices outside the frames, events that do not
//         close what was opened last or go back in time, a weight that is negative, no number or
//         beyond 63 bits, lists of different lengths, members that are missing, double, or of
//         another kind. Exhausted: stacks of more than 2^27 frames together.
// Source: speedscope's src/lib/file-format-spec.ts and file-format-schema.json.
base::Result<profile::Profile> DecodeSpeedscope(std::string_view text);

}  // namespace vesta::wire
