// Which processes live, what they map, and what they are called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/agent/process/image_store.h"
#include "src/agent/process/labels.h"
#include "src/agent/process/proc_view.h"
#include "src/agent/process/process_event.h"
#include "src/agent/process/process_list.h"
#include "src/agent/process/task_list.h"

namespace vesta::agent::process {

// The thread that a sample names.
struct SampledThread {
  uint32_t pid = 0;
  uint64_t start_boot_ns = 0;  // of the process; 0 = unknown
  uint32_t exec_id = 0;        // 0 = unknown
  uint64_t time_mono_ns = 0;
  std::string_view thread_comm;
};

struct ProcessCounters {
  uint64_t proc_reads = 0;           // processes read from /proc
  uint64_t proc_reads_failed = 0;    // gone in the meantime, or not ours to read
  uint64_t proc_reads_deferred = 0;  // not tried, since the last try was too recent
  uint64_t maps_lines_damaged = 0;
  uint64_t mappings_beyond_limit = 0;
  uint64_t processes_beyond_limit = 0;
  uint64_t tasks_beyond_limit = 0;
  uint64_t labels_unknown = 0;    // processes that were sampled and gone before they could be asked
  uint64_t labels_inherited = 0;  // the same, but a process that it was forked from could be asked
  uint64_t opt_outs_unclear = 0;  // processes whose VESTA_PROFILE is no word for yes or no
  uint64_t execs_missed = 0;      // learned from a sample, not from an event
  uint64_t pids_reused_unseen = 0;
  uint64_t events_lost = 0;
};

// Shape:  at most one living incarnation per pid. The kernel tells of no munmap, so a mapping stays
//         until something is mapped over it or the process is read again.
// Owner:  one thread, the same as that of the ImageStore and the ProcView.
// Cost:   about 400 bytes plus 32 per mapping and process; see process_table_bench for Scan.
// Errors: none reach the caller; what could not be learned is counted.
class ProcessTable {
 public:
  struct Options {
    size_t mappings_max = 32'768;         // per process
    size_t mappings_total_max = 131'072;  // 4 MiB
    size_t processes_max = 32'768;
    size_t exited_max = 4096;  // kept after their exit
    size_t tasks_max = 65'536;
    uint64_t exit_grace_ns = 2'000'000'000;
    ExclusionRule exclusion_rule = nullptr;
  };

  ProcessTable(const ProcView& proc, ImageStore& images, Options options);
  ~ProcessTable();
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // Reads all processes from /proc, kernel threads left out. At the start, after the event source
  // was opened, so that nothing falls between the two; events that the pass has already seen are
  // ignored.
  void Scan();

  void Apply(const ProcessEvent& event);

  // Time passes: drops what exited long enough ago, and reads everything again after lost events
  // (at most once a second, less often while losses go on).
  void Advance(uint64_t now_mono_ns);

  // Whether the process is known now. An unknown one is read from /proc, at once the first time,
  // then at growing intervals.
  bool EnsureKnown(uint32_t pid);

  // Replaces the mappings by what /proc says; false when the process is gone.
  bool Rescan(uint32_t pid);

  // What the kernel says of a process at `observed_mono_ns`. Corrects a start time that was cut,
  // and reads the process again when an exec or the reuse of its pid was missed.
  void NoteExecId(uint32_t pid, uint32_t exec_id, uint64_t start_boot_ns,
                  uint64_t observed_mono_ns);

  // Reads the labels on first need; false when they stay unknown.
  bool EnsureLabels(uint32_t pid);

  // Who a sample belongs to. Does all of EnsureKnown, NoteExecId and EnsureLabels.
  // Cost: one look-up for a process seen before.
  TaskId TaskOf(const SampledThread& thread);
  const TaskInfo& task(TaskId id) const { return tasks_.task(id); }
  // The image for code that a process was sampled in, where its mapping shows that of `mapped`.
  // A forked process shares the mappings of its parent, but both generate code at the same
  // addresses from then on: it has an image of its own, made when it is first sampled there.
  profile::ImageId GeneratedCodeOf(uint32_t pid, profile::ImageId mapped);
  // Marks, by id, each image that a process maps or could still be sampled in.
  void MarkImages(std::vector<bool>& needed) const;
  // Forgets all tasks, when a recording or a batch has taken their names.
  void ResetTasks();

  // Pids whose mappings or identity changed, that are new, or that exited, since the last call.
  std::vector<uint32_t> TakeChanged() { return list_.TakeChanged(); }

  // The newest incarnation; null when unknown. Valid until the next call that is not const.
  const Process* Find(uint32_t pid) const { return list_.Find(pid); }

  size_t process_count() const { return list_.newest().size(); }
  ProcessCounters counters() const;

 private:
  struct Retry {
    uint64_t next_mono_ns = 0;
    uint32_t try_count = 0;
  };
  enum class Read { kDone, kGone, kUnreadable };

  Process* NewProcess(uint32_t pid);
  enum class KernelThreads { kSkip, kKeep };
  Read ReadFromProc(uint32_t pid, KernelThreads kernel_threads);
  Read ReadWithBackOff(uint32_t pid);
  void ReadMappings(Process& process, const std::string& maps);
  void NoteFirstPath(Process& process, const std::string& path);
  bool AddMapping(Process& process, MappingList& mappings, const MapsEntry& entry,
                  const ResolvedMapping& resolved);
  ResolvedMapping ResolveAnonymous(Process& process, const MapsEntry& entry,
                                   const std::optional<ResolvedMapping>& file);
  void Apply(const MmapEvent& event, uint64_t time_mono_ns);
  void Apply(const CommEvent& event, uint64_t time_mono_ns);
  void Apply(const ForkEvent& event, uint64_t time_mono_ns);
  void Apply(const ExitEvent& event, uint64_t time_mono_ns);
  void Apply(const LostEvents& event, uint64_t time_mono_ns);
  void StartGeneration(Process& process, uint64_t time_mono_ns, uint32_t exec_id);
  void ForgetCode(Process& process, uint64_t time_mono_ns);
  void CheckLeaderless(uint64_t now_mono_ns);
  void Retire(Process& process);
  bool ExitWasOfAnExec(const Process& process, uint64_t time_mono_ns) const;
  bool SameStart(const Process& process, uint64_t start_boot_ns, bool is_exact) const;
  void NoteStart(Process& process, uint64_t start_boot_ns, bool is_exact);
  void NoteExec(Process& process, uint32_t exec_id, uint64_t observed_mono_ns);
  Process* IncarnationOf(const SampledThread& thread);
  void ReadLabels(Process& process);
  TaskId TaskOfProcess(Process& process);
  TaskId TaskOfStranger(const SampledThread& thread);
  std::optional<Labels> ReadOwnLabels(Process& process);
  void RefreshLabels(Process& process, uint64_t again_ns_min, uint64_t again_ns_max);
  std::shared_ptr<const Labels> LabelsOfAncestor(const Process& process);
  uint32_t LivingAncestorOf(const Process& process);
  std::optional<MappingPlace> FindMapping(profile::ImageId image) const;

  const ProcView& proc_;
  ImageStore& images_;
  Options options_;
  ProcessCounters counters_;

  ProcessList list_;
  std::unordered_map<uint32_t, uint64_t> leaderless_;  // pid -> when to look
  std::unordered_map<uint32_t, Retry> retries_;

  bool resync_wanted_ = false;
  uint64_t resync_next_mono_ns_ = 0;
  uint64_t resync_interval_ns_ = 0;

  TaskList tasks_;
};

}  // namespace vesta::agent::process
