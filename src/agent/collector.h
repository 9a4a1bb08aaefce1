// Samples for as long as it is asked to: cuts what an agent collects into batches, one per window.
#pragma once

#include <cstdint>
#include <optional>

#include "src/agent/agent.h"
#include "src/agent/batch_builder.h"
#include "src/agent/late_names.h"
#include "src/batch/batch.h"

namespace vesta::agent {

struct CollectorOptions {
  uint64_t window_ns = 10'000'000'000;
  int64_t period_ns = 0;  // CPU time that one sample stands for
  batch::Labels host_labels = {};
};

// The same moment by two clocks: CLOCK_MONOTONIC was read before and after CLOCK_REALTIME.
struct ClockReading {
  uint64_t mono_ns = 0;  // the middle of the two
  int64_t unix_ns = 0;
  uint64_t error_ns = 0;  // half the time between them
};

ClockReading ReadClocks();

// What is ready to be sent.
struct Collected {
  std::optional<WindowBatch> batch;
  std::optional<LateSymbols> symbols;
  ClockReading clock;  // of the batch's window
  uint64_t duration_ns = 0;
};

// A window ends with its time, at midnight UTC, and early when the memory for
// its samples is crowded. A window without samples gives a batch without rows: it carries the book.
// The first is over at once, so that it is known that the agent is there, and the second lasts a
// second at most, so that there is something to show.
// Owner: the agent's thread. The agent must outlive it, and keep the times of samples.
class Collector {
 public:
  Collector(Agent& agent, const CollectorOptions& options);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Waits for samples, at most wait_ns_max, takes in what came, and ends a window that is over.
  Collected Poll(uint64_t wait_ns_max);
  // Stops sampling; what was not handed out yet.
  Collected Finish();

  const NamingBook& naming_book() const { return names_.book; }
  const LateNamesBook& late_names_book() const { return late_names_.book(); }
  uint64_t windows_cut_early() const { return windows_cut_early_; }
  // As NameSources says.
  std::string kernel_names_problem() const { return names_.kernel_names_problem(); }

 private:
  uint64_t WindowNs() const;
  bool IsOver(const ClockReading& now);
  Collected Cut(const ClockReading& now);

  Agent& agent_;
  CollectorOptions options_;
  NameSources names_;
  BatchBuilder builder_;
  LateNames late_names_;
  ClockReading started_;
  uint64_t late_names_next_mono_ns_ = 0;
  uint64_t windows_ = 0;  // so far
  uint64_t windows_cut_early_ = 0;
};

}  // namespace vesta::agent
