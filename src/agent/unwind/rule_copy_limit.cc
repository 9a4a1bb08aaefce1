#include "src/agent/unwind/rule_copy_limit.h"

namespace vesta::agent::unwind {

bool RuleCopyLimit::Note(uint32_t tgid, bool reached_root) {
  Process& process = processes_[tgid];
  ++process.copies;
  process.in_vain = reached_root ? 0 : process.in_vain + 1;
  const bool too_many = process.copies >= kCopiesPerPeriod || process.in_vain >= kInVainMax;
  if (too_many && !process.stopped) {
    process.stopped = true;
    ++stopped_count_;
  }
  return !too_many;
}

std::vector<uint32_t> RuleCopyLimit::BeginPeriod() {
  std::vector<uint32_t> stopped;
  for (const auto& [tgid, process] : processes_) {
    if (process.stopped) stopped.push_back(tgid);
  }
  processes_.clear();
  return stopped;
}

}  // namespace vesta::agent::unwind
