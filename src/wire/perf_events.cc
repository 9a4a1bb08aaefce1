#include "src/wire/perf_events.h"

#include <algorithm>

namespace vesta::wire {
namespace {

// "cycles" of "cycles:u" and of "cpu_core/cycles/P".
std::string_view BaseOf(std::string_view event) {
  const size_t slash = event.find('/');
  if (slash != std::string_view::npos) event.remove_prefix(slash + 1);
  return event.substr(0, event.find_first_of(":/"));
}

bool CountsNanoseconds(std::string_view event) {
  const std::string_view base = BaseOf(event);
  return base == "cpu-clock" || base == "task-clock";
}

bool MeasuresTime(std::string_view event) {
  const std::string_view base = BaseOf(event);
  return CountsNanoseconds(event) || base == "cycles" || base == "cpu-cycles" ||
         base == "ref-cycles";
}

}  // namespace

base::Error PerfEventSamples::TooManyEvents() {
  return base::Error(base::ErrorCode::kExhausted,
                     "more than " + std::to_string(kEventsMax) +
                         " events of perf: record fewer with perf record -e");
}

size_t PerfEventSamples::EventOf(std::string_view name) {
  size_t i = 0;
  while (i < events_.size() && events_[i].name != name) ++i;
  if (i == events_.size()) events_.push_back({.name = std::string(name)});
  return i;
}

void PerfEventSamples::Add(size_t event, profile::StackId stack, profile::LabelSetId labels,
                           std::optional<int64_t> known_period) {
  Event& row = events_[event];
  const int64_t period = known_period.value_or(1);
  row.has_periods = row.has_periods && known_period.has_value();
  if (row.sample_count++ == 0) row.period = period;
  row.same_period = row.same_period && row.period == period;
  samples_.push_back({stack, labels, static_cast<uint32_t>(event), period});
}

void PerfEventSamples::AddTime(int64_t time_ns) {
  if (!has_time_ || time_ns < time_first_ns_) time_first_ns_ = time_ns;
  if (!has_time_ || time_ns > time_last_ns_) time_last_ns_ = time_ns;
  has_time_ = true;
}

size_t PerfEventSamples::MainEvent() const {
  size_t first = events_.size();
  for (size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].sample_count == 0) continue;
    if (MeasuresTime(events_[i].name)) return i;
    first = std::min(first, i);
  }
  return first;
}

base::Result<void> PerfEventSamples::MoveTo(profile::Profile& profile) {
  std::vector<profile::ValueType> types = {profile.InternValueType("samples", "count")};
  std::vector<size_t> place(events_.size());
  for (size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].sample_count == 0) continue;
    place[i] = types.size();
    const bool is_time = CountsNanoseconds(events_[i].name) && events_[i].has_periods;
    types.push_back(profile.InternValueType(events_[i].name, is_time ? "nanoseconds" : "count"));
  }
  if (types.size() - 1 > kEventsMax) return TooManyEvents();
  const size_t main = MainEvent();
  if (main < events_.size()) {
    profile.header().default_sample_type = types[place[main]].type;
    if (events_[main].same_period && events_[main].period > 0) {
      profile.header().period_type = types[place[main]];
      profile.header().period = events_[main].period;
    }
  }
  if (time_last_ns_ > time_first_ns_) profile.header().duration_ns = time_last_ns_ - time_first_ns_;
  std::vector<int64_t> values(types.size());
  profile.SetSampleTypes(std::move(types));
  for (const Sample& sample : samples_) {
    std::ranges::fill(values, 0);
    values[0] = sample.event == main ? 1 : 0;
    values[place[sample.event]] = sample.value;
    profile.AddSample(sample.stack, sample.labels, values);
  }
  return {};
}

}  // namespace vesta::wire
