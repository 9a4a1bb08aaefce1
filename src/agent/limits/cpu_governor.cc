#include "src/agent/limits/cpu_governor.h"

#include <algorithm>
#include <bit>

namespace vesta::agent::limits {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kMilliPercentOfAll = 100'000;

// The account, in seconds of the limit: at most, after a step down, after a step up.
constexpr int64_t kAccountSeconds = 10;
constexpr int64_t kAccountAfterDownSeconds = 2;
constexpr int64_t kAccountAfterUpSeconds = 3;
// At the start all processes are read and all tables built: what that takes for 500 processes.
constexpr int64_t kAccountAtStartNs = kNsPerSecond;
constexpr uint64_t kStartNs = 10 * kNsPerSecond;
constexpr uint32_t kHalvingsAtOnceMax = 3;

constexpr uint64_t kHoldBelowHalfNs = 20 * kNsPerSecond;
constexpr uint64_t kHoldBelowMostNs = 120 * kNsPerSecond;
// Of the limit, in tenths.
constexpr uint64_t kHalf = 5;
constexpr uint64_t kMost = 8;
// A step up that lasted longer was no mistake.
constexpr uint64_t kProbationNs = 600 * kNsPerSecond;
constexpr uint32_t kFailedUpsMax = 6;

}  // namespace

CpuGovernor::CpuGovernor(const Options& options)
    : options_(options),
      rate_steps_(static_cast<uint32_t>(std::bit_width(std::max(options.frequency_hz, 1u))) - 1) {
  book_.ns_at_step.resize(step_count());
}

Level CpuGovernor::LevelOf(uint32_t step) const {
  return {std::min(step, rate_steps_), step <= rate_steps_, step <= rate_steps_ + 1};
}

uint32_t CpuGovernor::recent_milli_percent() const {
  if (recent_host_ns_ == 0) return 0;
  return static_cast<uint32_t>(recent_used_ns_ * kMilliPercentOfAll / recent_host_ns_);
}

uint32_t CpuGovernor::Take(const CpuReading& reading) {
  const int64_t budget_ns_per_s = kNsPerSecond / static_cast<int64_t>(kMilliPercentOfAll) *
                                  options_.limit_milli_percent * reading.cpus;
  if (!started_) {
    started_ = true;
    started_mono_ns_ = reading.time_mono_ns;
    last_ = reading;
    account_ns_ = std::max(kAccountSeconds * budget_ns_per_s, kAccountAtStartNs);
    return step_;
  }
  if (reading.time_mono_ns <= last_.time_mono_ns) return step_;
  const uint64_t elapsed_ns = reading.time_mono_ns - last_.time_mono_ns;
  const uint64_t used_ns =
      reading.agent_cpu_ns - last_.agent_cpu_ns + reading.program_cpu_ns - last_.program_cpu_ns;
  last_ = reading;
  book_.ns_at_step[step_] += elapsed_ns;
  recent_used_ns_ = recent_used_ns_ / 2 + used_ns;
  recent_host_ns_ = recent_host_ns_ / 2 + elapsed_ns * reading.cpus;

  // After a long sleep (a machine that was suspended) the account is just full.
  const auto credited_ns = static_cast<int64_t>(std::min<uint64_t>(elapsed_ns, 60 * kNsPerSecond));
  const bool is_start = reading.time_mono_ns - started_mono_ns_ < kStartNs;
  const int64_t full_ns = kAccountSeconds * budget_ns_per_s;
  account_ns_ += credited_ns * options_.limit_milli_percent /
                 static_cast<int64_t>(kMilliPercentOfAll) * reading.cpus;
  if (!is_start) account_ns_ = std::min(account_ns_, full_ns);
  account_ns_ -= static_cast<int64_t>(used_ns);

  if (account_ns_ < 0) {
    StepDown(reading.time_mono_ns, budget_ns_per_s);
  } else if (MayStepUp(elapsed_ns)) {
    --step_;
    change_ = {LevelOf(step_ + 1), LevelOf(step_), recent_milli_percent()};
    ++book_.step_ups;
    if (stepped_up_mono_ns_ != 0 && failed_ups_ > 0) --failed_ups_;  // the last one stood
    stepped_up_mono_ns_ = reading.time_mono_ns;
    account_ns_ = kAccountAfterUpSeconds * budget_ns_per_s;
    below_half_ns_ = below_most_ns_ = 0;
  }
  return step_;
}

void CpuGovernor::StepDown(uint64_t now_mono_ns, int64_t budget_ns_per_s) {
  below_half_ns_ = below_most_ns_ = 0;
  account_ns_ = kAccountAfterDownSeconds * budget_ns_per_s;
  if (step_ + 1 == step_count()) return;
  if (stepped_up_mono_ns_ != 0) {
    const bool was_mistake = now_mono_ns - stepped_up_mono_ns_ < kProbationNs;
    failed_ups_ = was_mistake ? std::min(failed_ups_ + 1, kFailedUpsMax) : 0;
    stepped_up_mono_ns_ = 0;
  }
  const uint32_t before = step_;
  ++book_.step_downs;
  ++step_;
  for (uint32_t more = 1; more < kHalvingsAtOnceMax && step_ < rate_steps_ &&
                          recent_milli_percent() >> more > options_.limit_milli_percent;
       ++more) {
    ++step_;
  }
  change_ = {LevelOf(before), LevelOf(step_), recent_milli_percent()};
  // What was used at the old step says nothing about the new one.
  recent_used_ns_ = recent_host_ns_ = 0;
}

bool CpuGovernor::MayStepUp(uint64_t elapsed_ns) {
  if (step_ == 0) return false;
  const uint64_t tenths = uint64_t{recent_milli_percent()} * 10;
  const uint64_t limit = options_.limit_milli_percent;
  below_half_ns_ = tenths <= limit * kHalf ? below_half_ns_ + elapsed_ns : 0;
  below_most_ns_ = tenths <= limit * kMost ? below_most_ns_ + elapsed_ns : 0;
  return below_half_ns_ >= kHoldBelowHalfNs << failed_ups_ || below_most_ns_ >= kHoldBelowMostNs
                                                                                    << failed_ups_;
}

}  // namespace vesta::agent::limits
