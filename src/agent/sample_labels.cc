#include "src/agent/sample_labels.h"

#include <map>
#include <string>
#include <utility>

#include "src/agent/stop_reason.h"
#include "src/base/utf8.h"
#include "src/profile/profile.h"

namespace vesta::agent {
namespace {

constexpr std::string_view kKernelService = "[kernel]";
constexpr const char* kServiceName = "service.name";
constexpr const char* kNameOfProcess = "process name";

// "kworker/3:1-events" -> "kworker": workers come and go by the hundred.
std::string_view FamilyOf(std::string_view kernel_thread) {
  return kernel_thread.substr(0, kernel_thread.find_first_of("/:"));
}

}  // namespace

void ForEachLabel(const process::TaskInfo* task, std::string_view thread_name,
                  abi_stop_reason reason, const TakeLabel& take) {
  const auto say = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) take(key, value);
  };
  say(profile::kLabelProcess, task != nullptr ? std::string_view(task->comm) : thread_name);
  if (task != nullptr) {
    const process::Labels& labels = *task->labels;
    say("exe", labels.executable);
    say("service.name", labels.service_name);
    say("service.version", labels.service_version);
    say("service.rule", labels.rule == process::ServiceRule::kUnknown
                            ? std::string_view()
                            : process::ServiceRuleName(labels.rule));
    say("container.id", labels.container_id);
    say("k8s.pod.uid", labels.pod_uid);
    say("systemd.unit", labels.unit);
  }
  const StopReasonInfo& stop = InfoOf(reason);
  if (!stop.is_complete) say("incomplete", stop.name);
}

batch::Labels SeriesLabels(const batch::Labels& host_labels, const process::TaskInfo* task,
                           std::string_view thread_name, abi_stop_reason reason) {
  std::map<std::string, std::string> labels;
  for (const batch::Label& label : host_labels) labels[label.name] = label.value;
  const bool is_kernel = task != nullptr && task->is_kernel_thread;
  ForEachLabel(task, thread_name, reason, [&](std::string_view name, std::string_view value) {
    if (is_kernel && name == profile::kLabelProcess) value = FamilyOf(value);
    if (is_kernel && name == kServiceName) value = kKernelService;
    if (is_kernel && name == "service.rule") return;
    if (!value.empty()) labels.try_emplace(std::string(name), base::ToUtf8(value));
  });
  if (labels.find(kServiceName) == labels.end()) {
    labels.emplace(kServiceName, FamilyOf(labels[std::string(profile::kLabelProcess)]));
    labels.try_emplace("service.rule", kNameOfProcess);
  }
  batch::Labels sorted;
  for (auto& [name, value] : labels) sorted.push_back({name, std::move(value)});
  return sorted;
}

}  // namespace vesta::agent
