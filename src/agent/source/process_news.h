// Reads the perf side-band: per CPU a ring in which the kernel notes exec, mmap, fork and exit of
// every process, at no cost to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/agent/process/process_event.h"
#include "src/agent/source/perf_event.h"
#include "src/base/result.h"

namespace vesta::agent::source {

// One record of the ring as an event; empty for kinds that we do not use.
// Shape:  a whole record, perf_event_header first, as OpenProcessNews() asks for it.
// Errors: Corrupt when the record ends before its fields do.
// Source: struct perf_event_mmap_page and enum perf_event_type in linux/perf_event.h.
base::Result<std::optional<process::ProcessEvent>> ParseProcessNews(
    std::span<const std::byte> record);

// Owner: one thread. A ring per CPU, mapped.
class ProcessNews {
 public:
  // ring_pages: a power of two per CPU.
  static base::Result<ProcessNews> Open(size_t ring_pages);
  ProcessNews(ProcessNews&&) = default;
  ProcessNews& operator=(ProcessNews&&) = default;

  // Follows CPUs that came or went.
  base::Result<void> UpdateCpus(std::span<const int> online);

  // Stops and goes on collecting; between the two nothing costs anything, and nothing is heard.
  void SetCollecting(bool collecting);

  // Adds all waiting events and orders the whole by time.
  void Drain(std::vector<process::ProcessEvent>& events);

  uint64_t received_count() const { return received_count_; }
  uint64_t lost_count() const { return lost_count_; }
  uint64_t damaged_count() const { return damaged_count_; }

 private:
  struct Ring {
    Ring(PerfEvent opened, int cpu_number) : event(std::move(opened)), cpu(cpu_number) {}
    Ring(Ring&& other) noexcept;
    Ring& operator=(Ring&& other) noexcept;
    ~Ring();
    PerfEvent event;
    int cpu;
    void* pages = nullptr;
    size_t mapped_bytes = 0;
  };

  explicit ProcessNews(size_t ring_pages) : ring_pages_(ring_pages) {}
  base::Result<void> AddCpu(int cpu);
  void DrainRing(Ring& ring, std::vector<process::ProcessEvent>& events);

  size_t ring_pages_;
  bool collecting_ = true;
  std::vector<Ring> rings_;
  std::vector<std::byte> record_;  // a record that wraps around the ring's end, put together
  uint64_t received_count_ = 0;
  uint64_t lost_count_ = 0;
  uint64_t damaged_count_ = 0;
};

}  // namespace vesta::agent::source
