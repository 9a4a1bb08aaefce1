// Gives names to what the aggregator collected and makes a profile of it.
#pragma once

#include <cstdint>
#include <string>

#include "src/agent/aggregate/aggregator.h"
#include "src/agent/naming/namer.h"
#include "src/agent/process/image_store.h"
#include "src/agent/process/process_table.h"
#include "src/agent/runtime/runtime.h"
#include "src/agent/stack_namer.h"
#include "src/profile/profile.h"

namespace vesta::agent {

struct RecordingFacts {
  int64_t time_unix_ns = 0;
  int64_t duration_ns = 0;
  int64_t period_ns = 0;  // CPU time that one sample stands for
  bool hardware_cycles = false;
};

// Owner: the thread of the process table and image store. Keeps the kernel's names between calls.
class ProfileBuilder {
 public:
  ProfileBuilder(process::ProcessTable& processes, process::ImageStore& images,
                 naming::Namer& namer, runtime::Runtime& generated_code)
      : processes_(processes), names_(images, namer, generated_code) {}

  // Shape:  sample types samples/count and cpu/nanoseconds (the default); labels process, pid,
  //         thread, tid, service.name and what else is known of the process, and `incomplete` with
  //         the reason where a stack does not reach its root.
  // Cost:   as Namer::Name, for each image that was sampled.
  // Errors: none; what has no name keeps its address and image.
  profile::Profile Build(const aggregate::Aggregator& aggregator, const RecordingFacts& facts);

  const NamingBook& book() const { return names_.book; }
  // As NameSources says.
  std::string kernel_names_problem() const { return names_.kernel_names_problem(); }

 private:
  class Work;

  process::ProcessTable& processes_;
  NameSources names_;
};

}  // namespace vesta::agent
