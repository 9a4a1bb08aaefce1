// Keeps processes cheap whose stacks need the agent for every sample: how many copies of their
// stacks a process may send because of rules that the kernel's walker cannot apply.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace vesta::agent::unwind {

// Owner: agent thread.
// Cost:  one look-up per copy.
class RuleCopyLimit {
 public:
  // A copy of a small stack costs its process 2 µs, and the agent 2 µs for each frame: with 20
  // frames 200 in a second are 1 % of a core. Up to 48 KiB of the ring each, they are 10 MB in a
  // second.
  static constexpr uint32_t kCopiesPerPeriod = 200;
  // So many in a row that did not lead to the root: the process has something that we cannot do.
  static constexpr uint32_t kInVainMax = 8;

  // Notes a copy that came. False when the process must not send more in this period.
  bool Note(uint32_t tgid, bool reached_root);

  // Begins a period of about a second; gives the processes that may send copies again.
  std::vector<uint32_t> BeginPeriod();

  uint64_t stopped_count() const { return stopped_count_; }

 private:
  struct Process {
    uint32_t copies = 0;
    uint32_t in_vain = 0;
    bool stopped = false;
  };
  std::unordered_map<uint32_t, Process> processes_;  // of this period
  uint64_t stopped_count_ = 0;
};

}  // namespace vesta::agent::unwind
