// Processes that are not to be sampled: told to the kernel when a sample of one was seen, since
// excluding a tick there costs a hundredth of sending it here.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>

#include "abi/sample.h"
#include "abi/task_identity.h"
#include "src/agent/process/task_list.h"

namespace vesta::agent {

// An entry is for the incarnation that the sample named, so that neither an exec nor another
// process with the same pid inherits it. It is given up after a minute: then one sample comes
// through, and the process may have another name or control group by now. Owner: the agent's
// thread.
class UnwantedProcesses {
 public:
  struct Counts {
    uint64_t opted_out = 0;
    uint64_t by_rule = 0;
  };
  // null: it is wanted again. False when the kernel has no room: its samples go on to come here.
  using TellKernel = std::function<bool(uint32_t pid, const abi_unwanted* unwanted)>;

  explicit UnwantedProcesses(TellKernel tell_kernel) : tell_kernel_(std::move(tell_kernel)) {}

  // Counts a sample of such a process. One whose labels are not its own is not told to the kernel:
  // they may become known.
  void Note(const process::TaskInfo& task, const abi_sample& sample);
  // The process is gone.
  void Forget(uint32_t pid);
  void Review(uint64_t now_mono_ns);

  const Counts& counts() const { return counts_; }

 private:
  struct Told {
    uint64_t time_mono_ns = 0;
    uint32_t pid = 0;
    uint64_t start_boot_ns = 0;
    uint32_t exec_id = 0;
  };

  TellKernel tell_kernel_;
  Counts counts_;
  std::deque<Told> told_;                      // in the order of time
  std::unordered_map<uint32_t, Told> newest_;  // by pid
};

}  // namespace vesta::agent
