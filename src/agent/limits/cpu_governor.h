// Keeps the agent's own CPU time below a limit: decides when it does less, and when more again.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace vesta::agent::limits {

// What is done at a step; a higher step does less.
struct Level {
  uint32_t rate_shift = 0;  // ticks come 2^rate_shift times slower than asked
  bool extras = true;       // what makes results better, but is no sample: copies of stacks and the
                            // tables built for them, names read ahead, quick polls
  bool sampling = true;
};

struct CpuReading {
  uint64_t time_mono_ns = 0;
  uint64_t agent_cpu_ns = 0;    // of all threads, so far
  uint64_t program_cpu_ns = 0;  // of the kernel programs, so far
  uint32_t cpus = 1;            // that tick
};

struct StepChange {
  Level before;
  Level after;
  uint32_t used_milli_percent = 0;  // of all CPUs, just before the change
};

struct GovernorBook {
  uint64_t step_downs = 0;  // decisions, each of one step or more
  uint64_t step_ups = 0;
  std::vector<uint64_t> ns_at_step;
};

// Shape:  step 0 does everything; then the rate is halved down to about one tick a second, then
//         extras go, then sampling. The limit is an account: it fills with time, up to ten seconds'
//         worth, so that a burst (a new large program) costs no samples; when it is overdrawn, the
//         agent steps down, over as many halvings as the last seconds were too expensive. Up it
//         goes by one step at a time, when the agent was cheap for a while: for twenty seconds
//         where twice the cost would still fit, else for two minutes. Each step up that had to be
//         taken back soon doubles these times (to 64 times at most), so that a steady load is not
//         followed up and down.
//         In its first ten seconds the agent may take a second of CPU time beyond all that: it
//         reads what runs already, and builds the tables of it.
// Units:  the limit in 1/1000 % of all CPUs together. Over any time t the agent takes at most
//         limit * (t + 10 s), and two seconds of the limit plus the length of one reading per step.
// Owner:  one thread. A pure function of its readings: no clock of its own.
// Cost:   none; a reading per second is enough.
class CpuGovernor {
 public:
  struct Options {
    uint32_t limit_milli_percent = 100'000;  // 100 % = no limit
    uint32_t frequency_hz = 99;
  };

  explicit CpuGovernor(const Options& options);

  // Takes a reading, the first as the start of the account. Returns the step to be at from now on.
  uint32_t Take(const CpuReading& reading);

  uint32_t step() const { return step_; }
  uint32_t step_count() const { return rate_steps_ + 3; }
  Level LevelOf(uint32_t step) const;
  // What was used of late at this step, in 1/1000 % of all CPUs.
  uint32_t recent_milli_percent() const;
  // The newest change, once: what is to be said aloud.
  std::optional<StepChange> TakeChange() { return std::exchange(change_, std::nullopt); }
  const Options& options() const { return options_; }
  const GovernorBook& book() const { return book_; }

 private:
  void StepDown(uint64_t now_mono_ns, int64_t budget_ns_per_s);
  bool MayStepUp(uint64_t elapsed_ns);

  Options options_;
  uint32_t rate_steps_;  // halvings
  uint32_t step_ = 0;
  bool started_ = false;
  uint64_t started_mono_ns_ = 0;
  CpuReading last_;
  int64_t account_ns_ = 0;       // CPU time that may be used at once
  uint64_t recent_used_ns_ = 0;  // each reading counts half of the one after it
  uint64_t recent_host_ns_ = 0;  // CPU time that there was in the same time
  std::optional<StepChange> change_;
  uint64_t below_half_ns_ = 0;  // for how long already
  uint64_t below_most_ns_ = 0;
  uint64_t stepped_up_mono_ns_ = 0;  // 0 = never
  uint32_t failed_ups_ = 0;          // in a row
  GovernorBook book_;
};

}  // namespace vesta::agent::limits
