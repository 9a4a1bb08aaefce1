#include "src/agent/unwanted_processes.h"

namespace vesta::agent {
namespace {

constexpr uint64_t kTrustedNs = 60'000'000'000;
constexpr size_t kToldMax = 65'536;  // within that time

}  // namespace

void UnwantedProcesses::Note(const process::TaskInfo& task, const abi_sample& sample) {
  const bool by_rule = task.exclusion == process::Exclusion::kByRule;
  ++(by_rule ? counts_.by_rule : counts_.opted_out);
  // Without its start it could not be told from a later process.
  if (!task.labels->known || sample.process_start_boot_ns == 0) return;
  Told& newest = newest_[sample.tgid];
  // What comes now was under way already.
  if (newest.start_boot_ns == sample.process_start_boot_ns && newest.exec_id == sample.exec_id) {
    return;
  }
  const abi_unwanted unwanted{
      sample.process_start_boot_ns, sample.exec_id,
      by_rule ? uint32_t{ABI_UNWANTED_BY_RULE} : uint32_t{ABI_UNWANTED_OPTED_OUT}};
  if (told_.size() >= kToldMax || !tell_kernel_(sample.tgid, &unwanted)) {
    if (newest.start_boot_ns == 0) newest_.erase(sample.tgid);
    return;
  }
  newest = {sample.time_mono_ns, sample.tgid, sample.process_start_boot_ns, sample.exec_id};
  told_.push_back(newest);
}

void UnwantedProcesses::Forget(uint32_t pid) {
  if (newest_.erase(pid) != 0) tell_kernel_(pid, nullptr);
}

void UnwantedProcesses::Review(uint64_t now_mono_ns) {
  while (!told_.empty() && told_.front().time_mono_ns + kTrustedNs <= now_mono_ns) {
    const auto newest = newest_.find(told_.front().pid);
    // Told again since: that counts.
    if (newest != newest_.end() && newest->second.time_mono_ns == told_.front().time_mono_ns) {
      Forget(told_.front().pid);
    }
    told_.pop_front();
  }
}

}  // namespace vesta::agent
