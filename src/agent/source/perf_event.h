// Perf events as descriptors: the ticking ones that samples hang on, and the silent one that
// carries news about processes.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"

namespace vesta::agent::source {

// Owns one perf event descriptor.
class PerfEvent {
 public:
  explicit PerfEvent(int fd) : fd_(fd) {}
  PerfEvent(PerfEvent&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PerfEvent& operator=(PerfEvent&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~PerfEvent();
  int fd() const { return fd_; }
  // Gives the descriptor to somebody else who will close it.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

enum class TickEvent { kCpuClock, kCycles };

// A stopped event that ticks frequency_hz times per second of one CPU, whoever runs there.
// Errors: Unsupported with the remedy when the machine has no such counter, Permission when the
//         kernel refuses.
base::Result<PerfEvent> OpenTick(TickEvent event, int cpu, uint32_t frequency_hz);

// How an event ticks 2^rate_shift times slower than asked, but at least once a second.
struct TickRate {
  uint64_t period = 0;      // for PERF_EVENT_IOC_PERIOD: a period, or a frequency (kCycles)
  uint64_t weight_q16 = 0;  // ticks of the asked rate that one of these stands for, in 1/65536
};
TickRate TickRateOf(TickEvent event, uint32_t frequency_hz, uint32_t rate_shift);

// Changes the rate of an open tick. Errors: the kernel's.
base::Result<void> SetTickRate(int event_fd, const TickRate& rate);

// An event without ticks whose ring tells of exec, mmap, fork and exit on one CPU. It does not ask
// for build ids: Linux (seen on 6.18) then marks the records of other listeners as if they had
// asked too, and a perf beside us fails over them.
base::Result<PerfEvent> OpenProcessNews(int cpu);

// "0-3,6" -> {0,1,2,3,6}. Errors: Corrupt.
base::Result<std::vector<int>> ParseCpuList(const std::string& text);

// CPUs that are online now.
base::Result<std::vector<int>> OnlineCpus();

}  // namespace vesta::agent::source
