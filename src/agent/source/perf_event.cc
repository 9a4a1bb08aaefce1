#include "src/agent/source/perf_event.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <ctime>

#include "src/base/byte_source.h"

namespace vesta::agent::source {
namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int kCpusMax = 1 << 16;

base::Result<PerfEvent> Open(perf_event_attr& attributes, int cpu, const std::string& what) {
  attributes.size = sizeof(attributes);
  const long fd = ::syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) return PerfEvent(static_cast<int>(fd));
  const int errno_value = errno;
  base::Error error =
      base::ErrnoError("opening " + what + " on CPU " + std::to_string(cpu), errno_value);
  if (errno_value == EACCES || errno_value == EPERM) {
    return base::Error(
        base::ErrorCode::kPermission,
        error.message() + "; run as root, or with CAP_PERFMON, CAP_BPF and CAP_SYS_PTRACE");
  }
  if (errno_value == ENOENT || errno_value == EOPNOTSUPP) {
    return base::Error(base::ErrorCode::kUnsupported,
                       error.message() +
                           "; this machine has no such counter (virtual machines "
                           "often do not): use --event cpu-clock");
  }
  return error;
}

}  // namespace

PerfEvent::~PerfEvent() {
  if (fd_ >= 0) ::close(fd_);
}

base::Result<PerfEvent> OpenTick(TickEvent event, int cpu, uint32_t frequency_hz) {
  perf_event_attr attributes{};
  attributes.disabled = 1;
  if (event == TickEvent::kCpuClock) {
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    // The kernel turns a frequency of this clock into a fixed period anyway; saying the period
    // ourselves makes it the one that the profile states.
    attributes.sample_period = kNanosecondsPerSecond / frequency_hz;
  } else {
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
    attributes.freq = 1;
    attributes.sample_freq = frequency_hz;
  }
  return Open(attributes, cpu,
              event == TickEvent::kCpuClock ? "the cpu-clock event" : "the hardware cycles event");
}

TickRate TickRateOf(TickEvent event, uint32_t frequency_hz, uint32_t rate_shift) {
  constexpr uint64_t kOneQ16 = 1 << 16;
  // Whole frequencies only, so that the slowest is one; a period could be any.
  rate_shift = std::min(rate_shift, static_cast<uint32_t>(std::bit_width(frequency_hz)) - 1);
  if (event == TickEvent::kCpuClock) {
    return {kNanosecondsPerSecond / frequency_hz << rate_shift, kOneQ16 << rate_shift};
  }
  const uint64_t slower_hz = frequency_hz >> rate_shift;
  return {slower_hz, frequency_hz * kOneQ16 / slower_hz};
}

base::Result<void> SetTickRate(int event_fd, const TickRate& rate) {
  uint64_t period = rate.period;
  if (::ioctl(event_fd, PERF_EVENT_IOC_PERIOD, &period) != 0) {
    return base::ErrnoError("changing the sampling rate", errno);
  }
  return {};
}

base::Result<PerfEvent> OpenProcessNews(int cpu) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attributes.sample_id_all = 1;
  attributes.mmap = 1;
  attributes.mmap2 = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.task = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  // Nobody waits for the descriptor: the reader polls by time. A wake-up costs the program that
  // causes it several microseconds.
  attributes.watermark = 1;
  attributes.wakeup_watermark = ~uint32_t{0} >> 1;
  return Open(attributes, cpu, "the process side-band");
}

base::Result<std::vector<int>> ParseCpuList(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end && *at != '\n') {
    int first = 0;
    int last = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc()) break;
    last = first;
    at = parsed.ptr;
    if (at < end && *at == '-') {
      parsed = std::from_chars(at + 1, end, last);
      if (parsed.ec != std::errc()) break;
      at = parsed.ptr;
    }
    if (first < 0 || last < first || last >= kCpusMax) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at < end && *at == ',') {
      ++at;
    } else {
      break;
    }
  }
  if (cpus.empty() || (at < end && *at != '\n')) {
    return base::Error(base::ErrorCode::kCorrupt, "not a list of CPUs: " + text);
  }
  return cpus;
}

base::Result<std::vector<int>> OnlineCpus() {
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile("/sys/devices/system/cpu/online"));
  return ParseCpuList(text);
}

}  // namespace vesta::agent::source
