// Gives names to what the aggregator collected and makes a profile of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/agent/aggregate/aggregator.h"
#include "src/agent/kernel_image.h"
#include "src/agent/naming/namer.h"
#include "src/agent/process/image_store.h"
#include "src/agent/process/process_table.h"
#include "src/agent/runtime/runtime.h"
#include "src/profile/profile.h"

namespace vesta::agent {

struct NamingBook {
  uint64_t addresses = 0;
  uint64_t unnamed = 0;  // no symbol covers them
  uint64_t images_unreadable = 0;
};

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
      : processes_(processes), images_(images), namer_(namer), generated_code_(generated_code) {}

  // Shape:  sample types samples/count and cpu/nanoseconds (the default); labels process, pid,
  //         thread, tid, service.name and what else is known of the process, and `incomplete` with
  //         the reason where a stack does not reach its root.
  // Cost:   as Namer::Name, for each image that was sampled.
  // Errors: none; what has no name keeps its address and image.
  profile::Profile Build(const aggregate::Aggregator& aggregator, const RecordingFacts& facts);

  const NamingBook& book() const { return book_; }
  // Why the kernel has no names, with the remedy; empty when it has, or was not sampled.
  std::string kernel_names_problem() const { return kernel_ ? kernel_->problem : std::string(); }

 private:
  class Work;

  const KernelImage& Kernel();

  process::ProcessTable& processes_;
  process::ImageStore& images_;
  naming::Namer& namer_;
  runtime::Runtime& generated_code_;
  std::optional<KernelImage> kernel_;  // read on first need
  NamingBook book_;
};

}  // namespace vesta::agent
