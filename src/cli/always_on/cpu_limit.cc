#include "src/cli/always_on/cpu_limit.h"

#include <algorithm>
#include <cstdio>

namespace vesta::cli {
namespace {

using agent::limits::CpuGovernor;
using agent::limits::GovernorBook;
using agent::limits::Level;

constexpr uint64_t kNsPerMs = 1'000'000;
// The live page reads these, too.
constexpr const char* kRateAsked = "sampling_millihertz_asked";
constexpr const char* kRateNow = "sampling_millihertz_now";
constexpr const char* kIsPaused = "is_paused";
constexpr const char* kIsEnded = "is_ended";
constexpr const char* kCpuCount = "cpu_count";
constexpr const char* kCpusSampled = "cpus_sampled_milli";

std::string Number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

std::string PercentText(uint32_t milli_percent) {
  return Number(static_cast<double>(milli_percent) / 1000, 3) + "%";
}

std::string RateText(uint32_t frequency_hz, uint32_t rate_shift) {
  return Number(static_cast<double>(frequency_hz) / static_cast<double>(1u << rate_shift), 3) +
         " samples per second";
}

// ", 1.98 of 2 CPUs in use"
std::string CpusText(uint64_t sampled_milli, uint64_t count) {
  if (count == 0) return "";
  char text[80];
  std::snprintf(text, sizeof(text), ", %.2f of %llu CPUs in use",
                static_cast<double>(sampled_milli) / 1000, static_cast<unsigned long long>(count));
  return text;
}

std::string NameOf(const CpuGovernor& governor, uint32_t step) {
  const Level level = governor.LevelOf(step);
  if (!level.sampling) return "cpu_limit_ms_not_sampling";
  if (!level.extras) return "cpu_limit_ms_without_extras";
  if (step == 0) return "cpu_limit_ms_at_full_rate";
  return "cpu_limit_ms_at_rate_1_" + std::to_string(1u << level.rate_shift);
}

}  // namespace

std::string TextOf(const agent::limits::StepChange& change, const CpuGovernor::Options& limit) {
  const bool is_down = change.before.rate_shift < change.after.rate_shift ||
                       (change.before.extras && !change.after.extras) ||
                       (change.before.sampling && !change.after.sampling);
  std::string text = "the profiler takes " + PercentText(change.used_milli_percent) +
                     " of the CPUs, " + (is_down ? "more than" : "well below") + " --cpu-limit " +
                     PercentText(limit.limit_milli_percent) + ": ";
  if (!change.after.sampling) return text + "nothing is sampled for a while";
  text += RateText(limit.frequency_hz, change.after.rate_shift) + " now";
  if (!change.after.extras) text += ", without copies of stacks";
  return text;
}

std::vector<std::string> LimitNotes(const CpuGovernor& governor) {
  const GovernorBook& book = governor.book();
  if (book.step_downs == 0) return {};
  uint64_t all_ns = 0;
  uint64_t slower_ns = 0;
  uint32_t lowest = governor.step();
  for (uint32_t step = 0; step < governor.step_count(); ++step) {
    all_ns += book.ns_at_step[step];
    if (step > 0) slower_ns += book.ns_at_step[step];
    if (book.ns_at_step[step] != 0) lowest = std::max(lowest, step);
  }
  const CpuGovernor::Options& limit = governor.options();
  const double percent = 100.0 * static_cast<double>(slower_ns) / static_cast<double>(all_ns);
  std::vector<std::string> notes;
  notes.push_back("to stay within --cpu-limit " + PercentText(limit.limit_milli_percent) +
                  " fewer samples were taken for " + Number(percent, 3) +
                  "% of the time, each counting for more; at the least " +
                  RateText(limit.frequency_hz, governor.LevelOf(lowest).rate_shift) +
                  " instead of " + std::to_string(limit.frequency_hz));
  const uint64_t off_ns = book.ns_at_step.back();
  if (off_ns != 0) {
    notes.push_back("nothing was sampled for " +
                    Number(static_cast<double>(off_ns / kNsPerMs) / 1000, 3) +
                    " s, to stay within --cpu-limit");
  }
  return notes;
}

book::Reasons LimitDetails(const CpuGovernor& governor) {
  book::Reasons details;
  const GovernorBook& book = governor.book();
  details.emplace_back("cpu_limit_step_downs", book.step_downs);
  details.emplace_back("cpu_limit_step_ups", book.step_ups);
  for (uint32_t step = 0; step < governor.step_count(); ++step) {
    if (step > 0 && book.ns_at_step[step] == 0) continue;
    details.emplace_back(NameOf(governor, step), book.ns_at_step[step] / kNsPerMs);
  }
  return details;
}

book::Reasons SamplingDetails(const CpuGovernor& governor, const SamplingFacts& facts) {
  const uint64_t asked = uint64_t{governor.options().frequency_hz} * 1000;
  const Level level = governor.LevelOf(governor.step());
  return {{kRateAsked, asked},
          {kRateNow, level.sampling ? asked >> level.rate_shift : 0},
          {kIsPaused, facts.is_paused ? 1 : 0},
          {kIsEnded, facts.is_ended ? 1 : 0},
          {kCpuCount, facts.cpu_count},
          {kCpusSampled, facts.cpus_sampled_milli}};
}

std::string SamplingText(const book::Book& book) {
  const auto detail = [&](const char* name) {
    const auto found = std::ranges::find(book.details, name, &book::Reasons::value_type::first);
    return found == book.details.end() ? uint64_t{0} : found->second;
  };
  const uint64_t asked = detail(kRateAsked);
  const uint64_t now = detail(kRateNow);
  if (asked == 0) return "";
  if (detail(kIsEnded) != 0) return "ended in good order";
  if (detail(kIsPaused) != 0) return "paused: nothing is sampled (`vesta resume` ends it)";
  const std::string rate = Number(static_cast<double>(asked) / 1000, 3) + " Hz";
  const std::string cpus = CpusText(detail(kCpusSampled), detail(kCpuCount));
  if (now == 0) return "nothing is sampled for a while, to stay within --cpu-limit";
  if (now == asked) return "at " + rate + cpus;
  return "at " + Number(static_cast<double>(now) / 1000, 3) + " of " + rate +
         ", to stay within --cpu-limit: each sample counts for more" + cpus;
}

}  // namespace vesta::cli
