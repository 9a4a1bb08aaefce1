// Profile -> a processed profile of the Firefox Profiler (profiler.firefox.com).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "src/profile/profile.h"

namespace vesta::wire {

struct FirefoxEncodeOptions {
  std::optional<size_t> sample_type = std::nullopt;  // nothing = the default one
  std::string product = "vesta";                     // shown as the title
};

// Shape: version 60 of the processed format; later ones of the site upgrade it. A thread for each
//        set of the labels process, pid, thread and tid. Each sample of the profile is one sample
//        with a weight; 0 is left out. Inlined functions are frames of their own.
// Units: weights are milliseconds for units of time (weightType "tracing-ms", exact to the
//        nanosecond), "bytes" for bytes, else "samples". The times at which samples stand are made
//        up: one follows the other, as long as it weighs.
// Source: docs/formats/firefox.md.
std::string EncodeFirefox(const profile::Profile& profile,
                          const FirefoxEncodeOptions& options = {});

}  // namespace vesta::wire
