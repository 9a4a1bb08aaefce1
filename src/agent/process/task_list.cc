#include "src/agent/process/task_list.h"

#include <algorithm>
#include <iterator>

#include "src/base/check.h"

namespace vesta::agent::process {

const TaskInfo& TaskList::task(TaskId id) const {
  CHECK(id.value() >= 1 && id.value() <= tasks_.size());
  return tasks_[id.value() - 1];
}

TaskInfo& TaskList::Get(TaskId id) { return const_cast<TaskInfo&>(std::as_const(*this).task(id)); }

Exclusion TaskList::ExclusionOf(const TaskInfo& task) const {
  if (task.labels->opted_out) return Exclusion::kOptedOut;
  return rule_ && rule_(task) ? Exclusion::kByRule : Exclusion::kNone;
}

TaskId TaskList::Add(TaskInfo task) {
  if (tasks_.size() + 1 >= count_max_) {
    ++beyond_limit_count_;
    if (beyond_limit_ != TaskId()) return beyond_limit_;
    task = {0, 0, "[other]", Intern(Labels{})};
    beyond_limit_ = TaskId(static_cast<uint32_t>(tasks_.size() + 1));
  } else {
    task.exclusion = ExclusionOf(task);
  }
  tasks_.push_back(std::move(task));
  return TaskId(static_cast<uint32_t>(tasks_.size()));
}

TaskList::Stranger TaskList::AddStranger(uint32_t pid, uint64_t start_boot_ns,
                                         std::string_view thread_comm) {
  const auto [known, is_new] = strangers_.try_emplace({pid, start_boot_ns}, TaskId());
  if (is_new) {
    known->second = Add({pid, start_boot_ns, std::string(thread_comm), Intern(Labels{})});
  }
  return {known->second, is_new};
}

void TaskList::Clear() {
  tasks_.clear();
  strangers_.clear();
  beyond_limit_ = TaskId();
}

void TaskList::SetComm(TaskId id, const std::string& comm) {
  if (id == beyond_limit_) return;
  TaskInfo& task = Get(id);
  task.comm = comm;
  task.exclusion = ExclusionOf(task);
}

void TaskList::SetLabels(TaskId id, std::shared_ptr<const Labels> labels) {
  if (id == beyond_limit_) return;
  TaskInfo& task = Get(id);
  task.labels = std::move(labels);
  task.exclusion = ExclusionOf(task);
}

void TaskList::SetStart(TaskId id, uint64_t start_boot_ns) {
  if (id != beyond_limit_) Get(id).start_boot_ns = start_boot_ns;
}

std::shared_ptr<const Labels> TaskList::Intern(Labels labels) {
  if (labels_.size() >= labels_prune_at_) {
    for (auto entry = labels_.begin(); entry != labels_.end();) {
      entry = entry->use_count() == 1 ? labels_.erase(entry) : std::next(entry);
    }
    labels_prune_at_ = std::max<size_t>(1024, labels_.size() * 2);
  }
  return *labels_.insert(std::make_shared<const Labels>(std::move(labels))).first;
}

}  // namespace vesta::agent::process
