// What an agent makes, the wire carries and a store takes: the nouns of a batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/profile/profile.h"

namespace vesta::batch {

struct Label {
  std::string name;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

// What is the same for a series of samples: service.name, service.version, host.name, ...
// Shape: sorted by name, each name once, no empty name; no empty value either, since that is the
//        same as no label. src/store/batch_check.h has the limits.
using Labels = std::vector<Label>;

// What was measured. Each row carries a value and the count of samples behind it, so that two
// sample types of pprof (alloc_space, alloc_objects) are one type here.
// Shape: count_type "" = the count is only the number of rows; period_type "" = not sampled.
struct ProfileType {
  std::string type;        // "cpu", "alloc_space"
  std::string unit;        // "nanoseconds", "bytes"
  std::string count_type;  // "samples", "alloc_objects"; its unit is "count"
  std::string period_type;
  std::string period_unit;
  friend auto operator<=>(const ProfileType&, const ProfileType&) = default;
};

// Who a sample interrupted. Not part of a series, since there are too many of them.
// Shape: 0 and "" = unknown.
struct Task {
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string thread;
  friend auto operator<=>(const Task&, const Task&) = default;
};

// Names a batch, so that it is counted once however often it is sent.
struct BatchId {
  std::string agent;
  std::string boot;
  uint64_t sequence = 0;
  friend auto operator<=>(const BatchId&, const BatchId&) = default;
};

// Shape: value and count are >= 0 and not both 0.
// Units: value in the type's unit and already multiplied by the weight, so that sums are unbiased;
//        an interval has its end as time and its duration as value.
struct BatchRow {
  uint32_t type = 0;    // of Batch::types
  uint32_t series = 0;  // of Batch::series
  uint32_t task = 0;    // of Batch::tasks
  profile::StackId stack;
  int64_t time_unix_ms = 0;
  int64_t value = 0;
  int64_t count = 1;  // samples
  float weight = 1;   // > 0; 1 = nothing was sampled away
};

// Shape: the profile gives stacks and names; its samples are not looked at.
struct Batch {
  std::optional<BatchId> id = std::nullopt;  // nothing = counted whenever it comes
  // Its times are those of its arrival: when it is sent again, it may be of the next day.
  bool has_times_of_arrival = false;
  const profile::Profile* profile = nullptr;
  std::vector<ProfileType> types;
  std::vector<Labels> series;
  std::vector<Task> tasks;
  std::vector<BatchRow> rows;
};

}  // namespace vesta::batch
