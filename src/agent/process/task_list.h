// The processes that samples were taken of, numbered, with what names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "src/agent/process/labels.h"
#include "src/base/strong_id.h"

namespace vesta::agent::process {

// Number of a TaskInfo; 0 is none.
using TaskId = base::StrongId<struct TaskIdTag>;

// Why a process is not to be sampled.
enum class Exclusion : uint8_t {
  kNone,
  kOptedOut,  // it says so itself
  kByRule,
};

// What names the process of a sample; outlives the process. The thread's name is in the sample.
struct TaskInfo {
  uint32_t pid = 0;
  uint64_t start_boot_ns = 0;  // 0 = unknown
  std::string comm;
  std::shared_ptr<const Labels> labels;  // never null
  bool is_kernel_thread = false;
  Exclusion exclusion = Exclusion::kNone;  // the list's own word
};

// Whether a process is not to be sampled; asked when its task is made and when its name or labels
// change.
using ExclusionRule = std::function<bool(const TaskInfo& task)>;

// Shape:  ids are dense from 1. Beyond the limit all further tasks are one, "[other]", which is not
//         excluded.
// Owner:  that of the ProcessTable. Ids and references hold until Clear().
class TaskList {
 public:
  explicit TaskList(size_t count_max, ExclusionRule rule = nullptr)
      : count_max_(count_max), rule_(std::move(rule)) {}

  TaskId Add(TaskInfo task);
  // A process of which nothing is known but a thread; the same task for each of its samples.
  // `is_new` says whether this is the first.
  struct Stranger {
    TaskId task;
    bool is_new = false;
  };
  Stranger AddStranger(uint32_t pid, uint64_t start_boot_ns, std::string_view thread_comm);
  void Clear();

  const TaskInfo& task(TaskId id) const;
  void SetComm(TaskId id, const std::string& comm);
  void SetLabels(TaskId id, std::shared_ptr<const Labels> labels);
  void SetStart(TaskId id, uint64_t start_boot_ns);

  // Equal labels are one. Those that nobody holds any more go in time.
  std::shared_ptr<const Labels> Intern(Labels labels);

  uint64_t beyond_limit_count() const { return beyond_limit_count_; }

 private:
  struct LabelsOrder {
    bool operator()(const std::shared_ptr<const Labels>& a,
                    const std::shared_ptr<const Labels>& b) const {
      return *a < *b;
    }
  };

  TaskInfo& Get(TaskId id);
  Exclusion ExclusionOf(const TaskInfo& task) const;

  size_t count_max_;
  ExclusionRule rule_;
  std::deque<TaskInfo> tasks_;                                 // by id - 1
  std::map<std::pair<uint32_t, uint64_t>, TaskId> strangers_;  // pid and start
  TaskId beyond_limit_;
  uint64_t beyond_limit_count_ = 0;
  std::set<std::shared_ptr<const Labels>, LabelsOrder> labels_;
  size_t labels_prune_at_ = 1024;
};

}  // namespace vesta::agent::process
