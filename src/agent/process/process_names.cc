// What the samples of a process are called: its labels, and the task that carries them.
#include <algorithm>

#include "src/agent/process/process_table.h"
#include "src/agent/process/stat_parser.h"

namespace vesta::agent::process {
namespace {

// Labels are read again after some time: of a process that hands them down to one that is gone, and
// of one that is sampled. A program is moved to its control group soon after its start, if at all:
// the time is as long as the program had run when they were read, within these bounds. One reading
// costs four files of /proc.
constexpr uint64_t kHandDownAgainNsMin = 2'000'000;
constexpr uint64_t kHandDownAgainNsMax = 250'000'000;
constexpr uint64_t kSampledAgainNsMin = 50'000'000;
constexpr uint64_t kSampledAgainNsMax = 60'000'000'000;

}  // namespace

bool ProcessTable::EnsureLabels(uint32_t pid) {
  Process* process = list_.Get(pid);
  if (process == nullptr) return false;
  if (process->labels == nullptr) ReadLabels(*process);
  return process->labels->known;
}

// Empty when the process is gone.
std::optional<Labels> ProcessTable::ReadOwnLabels(Process& process) {
  if (process.exited) return std::nullopt;
  const auto exe = proc_.ReadExe(process.pid);
  const auto cgroup = proc_.Read(process.pid, ProcFile::kCgroup);
  const auto environ = proc_.Read(process.pid, ProcFile::kEnviron);
  // All of it is about the process we mean if that is still there afterwards.
  const auto text = proc_.Read(process.pid, ProcFile::kStat);
  const auto stat = text.ok() ? ParseStat(*text) : base::Result<ProcStat>(text.error());
  if (!stat.ok() || (stat->is_zombie() && stat->thread_count <= 1) ||
      !SameStart(process, stat->start_boot_ticks * proc_.TickNs(), false)) {
    return std::nullopt;
  }
  NoteStart(process, stat->start_boot_ticks * proc_.TickNs(), false);
  return MakeLabels({exe.ok()                        ? *exe
                     : process.first_path != nullptr ? *process.first_path
                                                     : std::string(),
                     process.comm, cgroup.ok() ? *cgroup : std::string(),
                     environ.ok() ? *environ : std::string()});
}

void ProcessTable::ReadLabels(Process& process) {
  const uint64_t now_mono_ns = proc_.NowMonoNs();
  std::optional<Labels> labels = ReadOwnLabels(process);
  if (labels) {
    if (labels->opt_out_unclear) ++counters_.opt_outs_unclear;
  } else {
    labels = Labels{};
    if (const auto ancestor = LabelsOfAncestor(process)) {
      ++counters_.labels_inherited;
      labels = InheritLabels(*ancestor);
    } else {
      ++counters_.labels_unknown;
    }
    if (process.first_path != nullptr) {
      labels = WithExecutable(std::move(*labels), *process.first_path, process.comm);
    } else if (process.exec_generation != 0) {
      labels =
          WithExecutable(std::move(*labels), {}, process.comm);  // until it maps its first file
    }
  }
  process.labels = tasks_.Intern(std::move(*labels));
  process.labels_mono_ns = now_mono_ns;
}

// Reads the labels again when they may have changed: control groups do without an event. Samples
// from now on are those of a new task if the labels are others.
void ProcessTable::RefreshLabels(Process& process, uint64_t again_ns_min, uint64_t again_ns_max) {
  const uint64_t now_mono_ns = proc_.NowMonoNs();
  if (process.labels != nullptr) {
    const uint64_t read_mono_ns = process.labels_mono_ns;
    const uint64_t had_run_ns = read_mono_ns - std::min(process.generation_mono_ns, read_mono_ns);
    if (now_mono_ns < read_mono_ns + std::clamp(had_run_ns, again_ns_min, again_ns_max)) return;
  }
  auto labels = ReadOwnLabels(process);
  if (!labels) return;
  process.labels_mono_ns = now_mono_ns;
  auto fresh = tasks_.Intern(std::move(*labels));
  if (fresh == process.labels) return;
  process.labels = std::move(fresh);
  process.task = TaskId();
}

// What the nearest process tells that it was forked from and that is known; null without one.
std::shared_ptr<const Labels> ProcessTable::LabelsOfAncestor(const Process& process) {
  const Process* ancestor = list_.FindAncestor(process, [this](Process& candidate) {
    RefreshLabels(candidate, kHandDownAgainNsMin, kHandDownAgainNsMax);
    return candidate.labels != nullptr && (candidate.labels->known || candidate.labels->inherited);
  });
  return ancestor == nullptr ? nullptr : ancestor->labels;
}

void ProcessTable::ResetTasks() {
  tasks_.Clear();
  list_.ForgetTasks();
}

TaskId ProcessTable::TaskOfProcess(Process& process) {
  if (process.labels != nullptr && process.labels->known)
    RefreshLabels(process, kSampledAgainNsMin, kSampledAgainNsMax);
  if (process.task != TaskId()) return process.task;
  if (process.labels == nullptr) ReadLabels(process);
  process.task = tasks_.Add(
      {process.pid, process.start_boot_ns, process.comm, process.labels, process.is_kernel_thread});
  return process.task;
}

TaskId ProcessTable::TaskOfStranger(const SampledThread& thread) {
  const auto stranger = tasks_.AddStranger(thread.pid, thread.start_boot_ns, thread.thread_comm);
  if (stranger.is_new) ++counters_.labels_unknown;
  return stranger.task;
}

TaskId ProcessTable::TaskOf(const SampledThread& thread) {
  EnsureKnown(thread.pid);
  Process* process = IncarnationOf(thread);
  if (process == nullptr) return TaskOfStranger(thread);
  if (thread.time_mono_ns < process->generation_mono_ns && process->previous_task != TaskId()) {
    return process->previous_task;
  }
  return TaskOfProcess(*process);
}

}  // namespace vesta::agent::process
