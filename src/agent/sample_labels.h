// What is said of the process behind a sample: the same keys in recordings and in batches.
#pragma once

#include <functional>
#include <string_view>

#include "abi/sample.h"
#include "src/agent/process/task_list.h"
#include "src/batch/batch.h"

namespace vesta::agent {

using TakeLabel = std::function<void(std::string_view key, std::string_view value)>;

// Process, service and where it runs; `incomplete` with the reason where the stack does not reach
// its root. Values are never empty; they may be no UTF-8.
// Shape: task is null for a thread of which nothing else is known.
void ForEachLabel(const process::TaskInfo* task, std::string_view thread_name,
                  abi_stop_reason reason, const TakeLabel& take);

// The same as labels of a series, which are few: all threads of the kernel are the service
// "[kernel]", and their process is what stands before the number of a worker.
// Shape: valid UTF-8, sorted by name; host_labels win over those of the process.
batch::Labels SeriesLabels(const batch::Labels& host_labels, const process::TaskInfo* task,
                           std::string_view thread_name, abi_stop_reason reason);

}  // namespace vesta::agent
