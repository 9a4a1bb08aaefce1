// Names what the aggregator collected in one window and makes rows with their own times of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/agent/aggregate/aggregator.h"
#include "src/agent/process/process_table.h"
#include "src/agent/stack_namer.h"
#include "src/batch/batch.h"
#include "src/profile/profile.h"

namespace vesta::agent {

struct WindowFacts {
  int64_t unix_minus_mono_ns =
      0;                     // the real time less CLOCK_MONOTONIC, by the clocks of the window
  uint64_t end_mono_ns = 0;  // for samples whose own time was not kept
  int64_t period_ns = 0;     // CPU time that one sample stands for
};

struct WindowBatch {
  std::unique_ptr<profile::Profile> profile;
  batch::Batch batch;  // of `profile`; without an id
  std::vector<ProvisionalNames> provisional;
};

// Owner: the thread of the process table and image store.
class BatchBuilder {
 public:
  // host_labels: what is the same for all series, e.g. host.name. They win over labels of the same
  // name that a process has.
  BatchBuilder(process::ProcessTable& processes, NameSources& names, batch::Labels host_labels)
      : processes_(processes), names_(names), host_labels_(std::move(host_labels)) {}

  // Shape:  one type, cpu/nanoseconds counted by samples; a row per sample; those whose time was
  //         not kept are at the time of the last of their stack and thread. Labels as ForEachLabel
  //         gives them; a process that was gone before it could be asked is a service by its name.
  //         All threads of the kernel are the service "[kernel]", and their process is what stands
  //         before the number of a worker.
  // Cost:   as Namer::Name, for each image that was sampled; 48 bytes per row.
  // Errors: none; what has no name keeps its address and image.
  WindowBatch Build(const aggregate::Aggregator& aggregator, const WindowFacts& facts);

 private:
  class Work;

  process::ProcessTable& processes_;
  NameSources& names_;
  batch::Labels host_labels_;
};

}  // namespace vesta::agent
