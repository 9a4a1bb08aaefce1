// Profile -> speedscope's JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/profile/profile.h"

namespace vesta::wire {

struct SpeedscopeEncodeOptions {
  std::string name = {};  // shown as the title
  // Labels that become the first frames, in this order; samples without one start with the next.
  std::vector<std::string> first_frame_labels = {std::string(profile::kLabelProcess)};
  std::optional<size_t> sample_type = std::nullopt;  // shown first; nothing = the default one
  // A frame for each line of a function: speedscope then shows the function in as many boxes.
  bool frame_per_line = false;
};

// Shape: one `sampled` profile per sample type, stacks root first, equal ones added up, inlined
//        functions as frames of their own; names of code without a name as in folded lines. A frame
//        is a function of a file of a binary; its line is where the function starts, else the first
//        line that was seen. Values that are 0 or negative are left out. The members that begin
//        with "vesta" are ours: others pass over them, and our reader gets back what they hold.
// Units: of the sample types, unchanged; what is neither time nor bytes has the unit "none".
// Source: docs/formats/speedscope.md.
std::string EncodeSpeedscope(const profile::Profile& profile,
                             const SpeedscopeEncodeOptions& options = {});

}  // namespace vesta::wire
