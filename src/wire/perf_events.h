// The samples of one or more events of perf -> sample types and samples of a profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Keeps samples until all events are known, since a profile wants its sample types first.
// Shape: samples/count, then one type per event, in their order. samples/count counts the samples
//        of one event only, since a sum over unlike events says nothing: of the first one that
//        measures time or cycles, else of the first; it is the default type's, too. Events without
//        samples are left out, unless there is no sample at all.
// Units: nanoseconds for cpu-clock and task-clock where periods are known, else count.
// Cost:  24 bytes per sample.
class PerfEventSamples {
 public:
  struct Event {
    std::string name;
    int64_t period = 0;  // of its first sample
    bool same_period = true;
    uint64_t sample_count = 0;
    bool has_periods = true;  // else each sample counts as one
  };

  // A sample has a value for each of them.
  static constexpr size_t kEventsMax = 64;
  static base::Error TooManyEvents();

  PerfEventSamples() = default;
  explicit PerfEventSamples(std::vector<Event> events) : events_(std::move(events)) {}

  size_t event_count() const { return events_.size(); }
  // The event of this name; a new one where there is none.
  size_t EventOf(std::string_view name);
  void Add(size_t event, profile::StackId stack, profile::LabelSetId labels,
           std::optional<int64_t> period);
  void AddTime(int64_t time_ns);

  // Sets sample types, default type, period and duration of `profile`, which gave out the ids, and
  // adds the samples.
  // Errors: Exhausted when more than kEventsMax events have samples.
  base::Result<void> MoveTo(profile::Profile& profile);

 private:
  struct Sample {
    profile::StackId stack;
    profile::LabelSetId labels;
    uint32_t event = 0;
    int64_t value = 0;
  };

  size_t MainEvent() const;

  std::vector<Event> events_;
  std::vector<Sample> samples_;
  bool has_time_ = false;
  int64_t time_first_ns_ = 0;
  int64_t time_last_ns_ = 0;
};

}  // namespace vesta::wire
