// The processes that are known, with those that are gone while samples of them may still come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/agent/process/image_store.h"
#include "src/agent/process/labels.h"
#include "src/agent/process/mapping_list.h"
#include "src/agent/process/task_list.h"

namespace vesta::agent::process {

// One incarnation of a pid: from fork or exec to the next exec or the exit.
struct Process {
  Process(uint32_t process_pid, size_t mappings_max, size_t& mappings_left)
      : mappings(mappings_max), mappings_share(mappings_left) {
    pid = process_pid;
    owner.pid = process_pid;
  }

  uint32_t pid = 0;
  uint64_t start_boot_ns = 0;    // CLOCK_BOOTTIME; 0 = unknown
  bool start_is_exact = false;   // else cut to a clock tick, as in /proc/PID/stat
  uint32_t exec_id = 0;          // the kernel's count of execs; 0 = unknown
  uint32_t exec_generation = 0;  // our own count, from what we have seen
  std::string comm;
  bool is_kernel_thread = false;
  bool exited = false;  // kept a while for samples that are still on their way
  MappingList mappings;
  MappingShare mappings_share;
  std::shared_ptr<const Labels> labels;  // null until EnsureLabels
  // Path of the first file that it maps: the executable, where that cannot be asked for any more.
  // Null when unknown.
  std::shared_ptr<const std::string> first_path;

  // For those who keep it.
  ImageOwner owner;
  uint64_t known_mono_ns = 0;       // events before this time are part of what we know
  uint64_t exec_id_mono_ns = 0;     // when exec_id was right
  uint64_t generation_mono_ns = 0;  // when this generation began, as far as we know
  uint64_t labels_mono_ns = 0;      // when the labels were read
  TaskId previous_task;             // of the generation before, for its last samples
  uint32_t thread_count = 1;
  bool leader_exited = false;
  uint64_t serial = 0;
  uint32_t parent_pid = 0;     // that forked it, where we saw that; 0 = unknown
  uint64_t parent_serial = 0;  // of that incarnation
  TaskId task;
};

// Shape: at most one newest incarnation per pid, living or not; earlier ones are retired.
// Owner: its ProcessTable. A pointer is valid until its process is retired or dropped.
class ProcessList {
 public:
  struct Limits {
    size_t mappings_max = 0;        // per process
    size_t mappings_total_max = 0;  // of all
    size_t processes_max = 0;
    size_t exited_max = 0;
    uint64_t exit_grace_ns = 0;  // how long one is kept after its exit
  };

  explicit ProcessList(const Limits& limits);

  // The newest incarnation; null when unknown.
  Process* Get(uint32_t pid);
  const Process* Find(uint32_t pid) const;
  std::unordered_map<uint32_t, Process>& newest() { return newest_; }
  const std::unordered_map<uint32_t, Process>& newest() const { return newest_; }
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [pid, process] : newest_) visit(process);
    for (const auto& [serial, process] : retired_) visit(process);
  }
  void ForgetTasks();

  // A new one, or null at the limit. The pid has none.
  Process* Add(uint32_t pid);
  void MarkExited(Process& process, uint64_t time_mono_ns);
  // Makes room for the next incarnation of its pid.
  void Retire(Process& process, uint64_t now_mono_ns);
  // A retired one that is_it(process) says yes to.
  template <typename IsIt>
  Process* FindRetired(const IsIt& is_it) {
    for (auto& [serial, process] : retired_) {
      if (is_it(process)) return &process;
    }
    return nullptr;
  }
  // Drops what exited long enough ago, and the first that exited where there are too many.
  void DropDeparted(uint64_t now_mono_ns);
  void BoundDeparted();

  // The nearest process that this one was forked from and that is_it(process) says yes to; null
  // when none of the last few is still known.
  template <typename IsIt>
  Process* FindAncestor(const Process& process, const IsIt& is_it) {
    Process* ancestor = ParentOf(process);
    for (size_t i = 0; ancestor != nullptr && i < kAncestorsMax; ++i) {
      if (is_it(*ancestor)) return ancestor;
      ancestor = ParentOf(*ancestor);
    }
    return nullptr;
  }

  // New ones, and those that exited, are noted here as well.
  void NoteChange(uint32_t pid) { changed_.insert(pid); }
  std::vector<uint32_t> TakeChanged();

 private:
  // How far back we look for a process that can still be asked.
  static constexpr size_t kAncestorsMax = 8;

  struct Departed {
    uint32_t pid;
    uint64_t serial;
    uint64_t drop_mono_ns;
  };

  Process* ParentOf(const Process& process);

  const Limits limits_;
  size_t mappings_left_;
  std::unordered_map<uint32_t, Process> newest_;
  std::unordered_map<uint64_t, Process> retired_;  // by serial
  std::deque<Departed> departed_;                  // in the order of their drop time
  std::unordered_set<uint32_t> changed_;
  uint64_t serial_next_ = 1;
};

}  // namespace vesta::agent::process
