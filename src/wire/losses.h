// What of a profile a format cannot hold, said before somebody misses it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/profile/profile.h"
#include "src/wire/profile_format.h"

namespace vesta::wire {

struct LossOptions {
  size_t sample_type = 0;  // that a format for one type holds
  // Labels whose text becomes the first frame of each stack, so that it is kept.
  std::vector<std::string> first_frame_labels = {std::string(profile::kLabelProcess)};
};

// Shape: one phrase per kind of loss, "file and line of 812 functions", "labels thread and tid", in
//        a fixed order; empty when all is kept. Only what the profile has is named.
// Cost:  one look at each row of each table.
std::vector<std::string> LossesOf(const profile::Profile& profile, ProfileFormat to,
                                  const LossOptions& options = {});

// "folded stacks: A, B, and C are not kept"; "" when nothing is lost.
std::string LossText(const std::vector<std::string>& losses, ProfileFormat to);

}  // namespace vesta::wire
