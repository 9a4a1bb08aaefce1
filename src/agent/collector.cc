#include "src/agent/collector.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace vesta::agent {
namespace {

constexpr int64_t kNsPerDay = 86'400'000'000'000;
// Names of an image may take milliseconds to look up: one image at a time.
constexpr uint64_t kLateNamesNs = 250'000'000;
constexpr uint64_t kSecondWindowNs = 1'000'000'000;

uint64_t ClockNs(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

ClockReading ReadClocks() {
  const uint64_t before_ns = ClockNs(CLOCK_MONOTONIC);
  const auto unix_ns = static_cast<int64_t>(ClockNs(CLOCK_REALTIME));
  const uint64_t error_ns = (ClockNs(CLOCK_MONOTONIC) - before_ns + 1) / 2;
  return {before_ns + error_ns, unix_ns, error_ns};
}

Collector::Collector(Agent& agent, const CollectorOptions& options)
    : agent_(agent),
      options_(options),
      names_(agent.images(), agent.namer(), agent.generated_code_runtime()),
      builder_(agent.processes(), names_, options.host_labels),
      late_names_(names_),
      started_(ReadClocks()) {
  agent_.SetImageHolder([this](std::vector<bool>& needed) { late_names_.MarkImages(needed); });
}

Collector::~Collector() { agent_.SetImageHolder(nullptr); }

Collected Collector::Poll(uint64_t wait_ns_max) {
  const uint64_t elapsed_ns = ReadClocks().mono_ns - started_.mono_ns;
  const uint64_t left_ns = WindowNs() - std::min(elapsed_ns, WindowNs());
  agent_.Poll(std::min(wait_ns_max, left_ns));
  const ClockReading now = ReadClocks();
  if (IsOver(now)) return Cut(now);
  Collected collected;
  if (now.mono_ns >= late_names_next_mono_ns_) {
    late_names_next_mono_ns_ = now.mono_ns + kLateNamesNs;
    collected.symbols = late_names_.Take();
  }
  return collected;
}

Collected Collector::Finish() {
  agent_.Stop();
  return Cut(ReadClocks());
}

uint64_t Collector::WindowNs() const {
  if (windows_ == 0) return 0;
  return windows_ == 1 ? std::min(kSecondWindowNs, options_.window_ns) : options_.window_ns;
}

bool Collector::IsOver(const ClockReading& now) {
  if (now.mono_ns - started_.mono_ns >= WindowNs()) return true;
  if (now.unix_ns / kNsPerDay != started_.unix_ns / kNsPerDay) return true;
  if (!agent_.aggregator().IsCrowded()) return false;
  ++windows_cut_early_;
  return true;
}

Collected Collector::Cut(const ClockReading& now) {
  Collected collected;
  collected.clock = now;
  collected.duration_ns = now.mono_ns - started_.mono_ns;
  WindowFacts facts;
  facts.unix_minus_mono_ns = now.unix_ns - static_cast<int64_t>(now.mono_ns);
  facts.end_mono_ns = now.mono_ns;
  facts.period_ns = options_.period_ns;
  collected.batch = builder_.Build(agent_.aggregator(), facts);
  late_names_.Add(std::move(collected.batch->provisional));
  collected.batch->provisional.clear();
  agent_.aggregator().Clear();
  agent_.processes().ResetTasks();
  started_ = now;
  ++windows_;
  return collected;
}

}  // namespace vesta::agent
