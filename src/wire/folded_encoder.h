// Profile -> folded lines, for flame graph tools.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/profile/profile.h"

namespace vesta::wire {

struct FoldedEncodeOptions {
  // Labels that become the first frames, in this order; samples without one start with the next.
  std::vector<std::string> first_frame_labels = {std::string(profile::kLabelProcess)};
  std::optional<size_t> sample_type = std::nullopt;  // nothing = FoldedSampleTypeIndex
  bool kernel_suffix = true;                         // "_[k]" behind the names of kernel functions
};

// Shape: one line per distinct line of names, in order of first sight: frames root first, ';'
//        between them, the value behind the last space. Inlined functions are frames of their own.
//        In a name ';' becomes ':' and control characters become ' '. A frame without a name is
//        "binary+0xoffset", "0xaddress" without a binary, a stack without frames "[no stack]".
//        Lines whose value is 0 are left out.
// Units: of options.sample_type, else of the one that FoldedSampleTypeIndex names.
// Source: docs/formats/folded.md.
std::string EncodeFolded(const profile::Profile& profile, const FoldedEncodeOptions& options = {});

// The sample type "samples/count" when there is one and not all of its values are 0, since that is
// what tools expect, else the default one.
size_t FoldedSampleTypeIndex(const profile::Profile& profile);

}  // namespace vesta::wire
