#include "src/agent/process/process_table.h"

#include <sys/sysmacros.h>

#include <algorithm>

#include "src/agent/process/stat_parser.h"
#include "src/base/check.h"

namespace vesta::agent::process {
namespace {

using base::ErrorCode;
using profile::ImageId;

// A program cannot be loaded and end within this time of its exec, but for the smallest.
constexpr uint64_t kExecExitNs = 200'000;
constexpr uint64_t kRetryFirstNs = 10'000'000;
constexpr uint64_t kRetryMaxNs = 10'000'000'000;
constexpr size_t kRetriesMax = 8192;  // beyond, all pids may be tried at once again
constexpr uint64_t kResyncMinNs = 1'000'000'000;
constexpr uint64_t kResyncMaxNs = 30'000'000'000;

std::optional<MapsEntry> EntryOf(const MmapEvent& event) {
  if (event.size_bytes == 0 || event.start + event.size_bytes < event.start) return std::nullopt;
  MapsEntry entry;
  entry.start = event.start;
  entry.end = event.start + event.size_bytes;
  entry.file_offset = event.file_offset;
  entry.device =
      makedev(static_cast<unsigned>(event.device_major), static_cast<unsigned>(event.device_minor));
  entry.inode = event.inode;
  entry.path = event.path;
  entry.deleted = StripDeleted(entry.path);
  entry.kind = KindOfMapping(entry.path);
  if (entry.kind == MappingKind::kVsyscall) return std::nullopt;
  return entry;
}

}  // namespace

ProcessTable::ProcessTable(const ProcView& proc, ImageStore& images, Options options)
    : proc_(proc),
      images_(images),
      options_(options),
      list_({options.mappings_max, options.mappings_total_max, options.processes_max,
             options.exited_max, options.exit_grace_ns}),
      tasks_(options.tasks_max, options.exclusion_rule) {
  images_.SetMappingFinder([this](ImageId image) { return FindMapping(image); });
}

ProcessTable::~ProcessTable() { images_.SetMappingFinder(nullptr); }

ProcessCounters ProcessTable::counters() const {
  ProcessCounters counters = counters_;
  counters.tasks_beyond_limit = tasks_.beyond_limit_count();
  return counters;
}

Process* ProcessTable::NewProcess(uint32_t pid) {
  Process* process = list_.Add(pid);
  if (process == nullptr) ++counters_.processes_beyond_limit;
  return process;
}

// --- What /proc says ---------------------------------------------------------------------------

void ProcessTable::Scan() {
  const uint64_t start_mono_ns = proc_.NowMonoNs();
  auto pids = proc_.ListPids();
  if (!pids.ok()) {
    ++counters_.proc_reads_failed;
    return;
  }
  for (const uint32_t pid : *pids) ReadFromProc(pid, KernelThreads::kSkip);
  std::sort(pids->begin(), pids->end());
  for (auto& [pid, process] : list_.newest()) {
    if (!process.exited && process.known_mono_ns < start_mono_ns &&
        !std::binary_search(pids->begin(), pids->end(), pid)) {
      list_.MarkExited(process, start_mono_ns);
    }
  }
}

ProcessTable::Read ProcessTable::ReadFromProc(uint32_t pid, KernelThreads kernel_threads) {
  ++counters_.proc_reads;
  const uint64_t now_mono_ns = proc_.NowMonoNs();
  const auto fail = [&](const base::Error& error) {
    ++counters_.proc_reads_failed;
    return error.code() == ErrorCode::kNotFound ? Read::kGone : Read::kUnreadable;
  };
  const auto text = proc_.Read(pid, ProcFile::kStat);
  if (!text.ok()) return fail(text.error());
  const auto stat = ParseStat(*text);
  if (!stat.ok()) return fail(stat.error());
  if (stat->is_kernel_thread && kernel_threads == KernelThreads::kSkip) return Read::kDone;
  if (stat->is_zombie() && stat->thread_count <= 1) return Read::kGone;
  const uint64_t start_boot_ns = stat->start_boot_ticks * proc_.TickNs();
  Process* process = list_.Get(pid);
  if (process != nullptr && !SameStart(*process, start_boot_ns, false)) {
    ++counters_.pids_reused_unseen;
    Retire(*process);
    process = nullptr;
  }
  std::string maps;
  if (!stat->is_kernel_thread) {
    auto maps_text = proc_.Read(pid, ProcFile::kMaps);
    if (!maps_text.ok()) return fail(maps_text.error());
    maps = std::move(*maps_text);
  }
  if (process == nullptr) process = NewProcess(pid);
  if (process == nullptr) return Read::kUnreadable;
  NoteStart(*process, start_boot_ns, false);
  process->comm = stat->comm;
  process->is_kernel_thread = stat->is_kernel_thread;
  process->thread_count = stat->thread_count;
  process->leader_exited = stat->is_zombie();
  process->exited = false;
  process->known_mono_ns = now_mono_ns;
  // Nothing: it is about to end, or is a kernel thread.
  if (!maps.empty()) ReadMappings(*process, maps);
  return Read::kDone;
}

void ProcessTable::ReadMappings(Process& process, const std::string& maps) {
  MappingList mappings(options_.mappings_max);
  MapsParser parser(maps);
  process.first_path = nullptr;
  while (const auto entry = parser.Next()) {
    if (entry->kind != MappingKind::kAnonymous) {
      AddMapping(process, mappings, *entry, images_.Resolve(process.owner, *entry));
      continue;
    }
    std::optional<ResolvedMapping> file;
    if (const auto below = parser.FileBelow()) file = images_.Resolve(process.owner, *below);
    AddMapping(process, mappings, *entry, ResolveAnonymous(process, *entry, file));
  }
  counters_.maps_lines_damaged += parser.damaged_line_count();
  const auto old = process.mappings.all();
  const auto now = mappings.all();
  if (std::equal(old.begin(), old.end(), now.begin(), now.end())) return;
  process.mappings = std::move(mappings);
  process.mappings_share.Take(process.mappings.all().size());
  list_.NoteChange(process.pid);
}

ResolvedMapping ProcessTable::ResolveAnonymous(Process& process, const MapsEntry& entry,
                                               const std::optional<ResolvedMapping>& file) {
  if (file && images_.HoldsTextOf(process.pid, entry, *file)) return *file;
  return images_.Resolve(process.owner, entry);
}

bool ProcessTable::AddMapping(Process& process, MappingList& mappings, const MapsEntry& entry,
                              const ResolvedMapping& resolved) {
  if (process.first_path == nullptr && entry.kind == MappingKind::kFile) {
    NoteFirstPath(process, entry.path);
  }
  mappings.SetLimit(std::min(options_.mappings_max, process.mappings_share.count_max()));
  const auto outcome = mappings.Add({entry.start, entry.end, resolved.bias, resolved.image});
  if (outcome == MappingList::Outcome::kFull) ++counters_.mappings_beyond_limit;
  if (&mappings == &process.mappings) process.mappings_share.Take(mappings.all().size());
  return outcome != MappingList::Outcome::kUnchanged;
}

void ProcessTable::NoteFirstPath(Process& process, const std::string& path) {
  process.first_path = std::make_shared<const std::string>(path);
  // It was sampled inside its exec, before it mapped anything, and was gone when it was asked.
  if (process.labels == nullptr || process.labels->known) return;
  process.labels = tasks_.Intern(WithExecutable(*process.labels, path, process.comm));
  if (process.task != TaskId()) tasks_.SetLabels(process.task, process.labels);
}

ProcessTable::Read ProcessTable::ReadWithBackOff(uint32_t pid) {
  const uint64_t now_mono_ns = proc_.NowMonoNs();
  const auto last = retries_.find(pid);
  if (last != retries_.end() && now_mono_ns < last->second.next_mono_ns) {
    ++counters_.proc_reads_deferred;
    return Read::kUnreadable;
  }
  const Read read = ReadFromProc(pid, KernelThreads::kKeep);
  if (read == Read::kDone) {
    retries_.erase(pid);
    return read;
  }
  if (retries_.size() >= kRetriesMax) retries_.clear();
  Retry& retry = retries_[pid];
  const uint32_t doublings = std::min(retry.try_count++, 20u);
  retry.next_mono_ns = now_mono_ns + std::min(kRetryFirstNs << doublings, kRetryMaxNs);
  return read;
}

bool ProcessTable::EnsureKnown(uint32_t pid) {
  return list_.Get(pid) != nullptr ||
         (ReadWithBackOff(pid) == Read::kDone && list_.Get(pid) != nullptr);
}

bool ProcessTable::Rescan(uint32_t pid) {
  const Read read = ReadFromProc(pid, KernelThreads::kKeep);
  if (read == Read::kGone) {
    Process* process = list_.Get(pid);
    if (process != nullptr && !process->exited) list_.MarkExited(*process, proc_.NowMonoNs());
  }
  return read == Read::kDone;
}

// --- What the kernel's events say --------------------------------------------------------------

void ProcessTable::Apply(const ProcessEvent& event) {
  std::visit([&](const auto& what) { Apply(what, event.time_mono_ns); }, event.what);
  list_.BoundDeparted();
}

void ProcessTable::Apply(const MmapEvent& event, uint64_t time_mono_ns) {
  Process* process = list_.Get(event.pid);
  if (process == nullptr) {
    ReadWithBackOff(event.pid);
    return;
  }
  if (time_mono_ns < process->known_mono_ns) return;
  const auto entry = EntryOf(event);
  if (!entry) return;
  ResolvedMapping resolved;
  if (entry->kind == MappingKind::kAnonymous) {
    std::optional<ResolvedMapping> file;
    if (const Mapping* covered = process->mappings.Find(entry->start)) {
      file = ResolvedMapping{covered->image, covered->bias};
    }
    resolved = ResolveAnonymous(*process, *entry, file);
  } else {
    process->owner.ancestor_pid = LivingAncestorOf(*process);
    resolved = images_.Resolve(process->owner, *entry);
  }
  if (AddMapping(*process, process->mappings, *entry, resolved)) list_.NoteChange(event.pid);
}

void ProcessTable::Apply(const CommEvent& event, uint64_t time_mono_ns) {
  Process* process = list_.Get(event.pid);
  if (process == nullptr) {
    if (!event.is_exec) return;
    // All that a new program maps is still to come, so /proc need not be asked.
    process = NewProcess(event.pid);
    if (process == nullptr) return;
    process->known_mono_ns = time_mono_ns;
  }
  const bool is_new = time_mono_ns >= process->known_mono_ns;
  if (event.is_exec) {
    if (time_mono_ns < process->generation_mono_ns) return;
    // The kernel has counted this exec already if it was asked since.
    const bool counted = time_mono_ns <= process->exec_id_mono_ns;
    const uint32_t exec_id =
        process->exec_id == 0 || counted ? process->exec_id : process->exec_id + 1;
    if (is_new) {
      ForgetCode(*process, time_mono_ns);
      process->comm = event.comm;
      process->thread_count = 1;
      process->leader_exited = false;
      process->exited = false;
    }
    StartGeneration(*process, time_mono_ns, exec_id);
    // A sample from before the exec was named when /proc showed the new program already.
    if (process->task != TaskId()) tasks_.SetComm(process->task, process->comm);
  } else if (is_new && event.tid == event.pid) {
    process->comm = event.comm;
    if (process->task != TaskId()) tasks_.SetComm(process->task, event.comm);
  }
}

void ProcessTable::Apply(const ForkEvent& event, uint64_t time_mono_ns) {
  Process* child = list_.Get(event.pid);
  const bool is_known = child != nullptr && time_mono_ns < child->known_mono_ns;
  if (is_known) return;
  if (event.pid == event.parent_pid) {
    if (child != nullptr) ++child->thread_count;
    return;
  }
  if (child != nullptr) Retire(*child);
  const Process* parent = Find(event.parent_pid);
  if (parent == nullptr) return;  // read from /proc when a sample names it
  child = NewProcess(event.pid);
  if (child == nullptr) return;
  child->comm = parent->comm;
  if (const size_t count = parent->mappings.all().size();
      count <= child->mappings_share.count_max()) {
    child->mappings = parent->mappings;
    child->mappings_share.Take(count);
  } else {
    counters_.mappings_beyond_limit += count;
  }
  child->first_path = parent->first_path;
  child->parent_pid = parent->pid;
  child->parent_serial = parent->serial;
  const ImageOwner& from = parent->owner;
  child->owner.inherited_code =
      from.generated_code != ImageId() ? from.generated_code : from.inherited_code;
  child->exec_id = parent->exec_id;
  child->exec_id_mono_ns = parent->exec_id_mono_ns;
  if (parent->labels != nullptr && parent->labels->known) child->labels = parent->labels;
  child->labels_mono_ns = time_mono_ns;
  child->generation_mono_ns = time_mono_ns;
  child->known_mono_ns = time_mono_ns;
  child->is_kernel_thread = parent->is_kernel_thread;
}

void ProcessTable::Apply(const ExitEvent& event, uint64_t time_mono_ns) {
  Process* process = list_.Get(event.pid);
  if (process == nullptr || process->exited || time_mono_ns < process->known_mono_ns) return;
  if (event.tid == event.pid && ExitWasOfAnExec(*process, time_mono_ns)) return;
  if (process->thread_count > 0) --process->thread_count;
  if (event.tid == event.pid) {
    process->leader_exited = true;
    // Other threads may run on. If their exits were lost, nothing will tell.
    if (process->thread_count > 0) leaderless_[event.pid] = time_mono_ns + options_.exit_grace_ns;
  }
  if (process->leader_exited && process->thread_count == 0)
    list_.MarkExited(*process, time_mono_ns);
}

// When a program gains rights by its exec (set-uid, capabilities), or its user may not read it,
// Linux takes its perf events away and reports that as its exit, although it runs on. Source:
// begin_new_exec() in fs/exec.c calls perf_event_exit_task().
bool ProcessTable::ExitWasOfAnExec(const Process& process, uint64_t time_mono_ns) const {
  if (process.exec_generation == 0) return false;
  if (time_mono_ns > process.generation_mono_ns + kExecExitNs) return false;
  const auto text = proc_.Read(process.pid, ProcFile::kStat);
  const auto stat = text.ok() ? ParseStat(*text) : base::Result<ProcStat>(text.error());
  return stat.ok() && !stat->is_zombie() &&
         SameStart(process, stat->start_boot_ticks * proc_.TickNs(), false);
}

void ProcessTable::Apply(const LostEvents& event, uint64_t /*time_mono_ns*/) {
  counters_.events_lost += event.count;
  resync_wanted_ = true;
}

void ProcessTable::StartGeneration(Process& process, uint64_t time_mono_ns, uint32_t exec_id) {
  ++process.exec_generation;
  process.exec_id = exec_id;
  process.exec_id_mono_ns = std::max(process.exec_id_mono_ns, time_mono_ns);
  process.generation_mono_ns = time_mono_ns;
  list_.NoteChange(process.pid);
  // Labels that were read later are those of the new program already.
  if (process.labels_mono_ns > time_mono_ns) return;
  process.labels = nullptr;
  process.previous_task = process.task;
  process.task = TaskId();
}

// Of another program, nothing that lay in memory remains.
void ProcessTable::ForgetCode(Process& process, uint64_t time_mono_ns) {
  process.mappings.Clear();
  process.mappings_share.Take(0);
  process.first_path = nullptr;
  process.owner.generated_code = process.owner.inherited_code = ImageId();
  process.owner.exec_mono_ns = time_mono_ns;
}

// --- Time and departure --------------------------------------------------------------------------

void ProcessTable::Retire(Process& process) { list_.Retire(process, proc_.NowMonoNs()); }

void ProcessTable::CheckLeaderless(uint64_t now_mono_ns) {
  for (auto entry = leaderless_.begin(); entry != leaderless_.end();) {
    if (now_mono_ns < entry->second) {
      ++entry;
      continue;
    }
    Process* process = list_.Get(entry->first);
    if (process != nullptr && process->leader_exited && !process->exited) {
      const auto text = proc_.Read(entry->first, ProcFile::kStat);
      const auto stat = text.ok() ? ParseStat(*text) : base::Result<ProcStat>(text.error());
      if (stat.ok() && stat->thread_count > 1) {
        process->thread_count = stat->thread_count - 1;  // without the leader
        entry->second = now_mono_ns + options_.exit_grace_ns;
        ++entry;
        continue;
      }
      list_.MarkExited(*process, now_mono_ns);
    }
    entry = leaderless_.erase(entry);
  }
}

void ProcessTable::Advance(uint64_t now_mono_ns) {
  list_.DropDeparted(now_mono_ns);
  if (!leaderless_.empty()) CheckLeaderless(now_mono_ns);
  if (!resync_wanted_ || now_mono_ns < resync_next_mono_ns_) return;
  // Losses in a row mean that we are too slow already: read less often.
  const bool in_a_row =
      resync_interval_ns_ != 0 && now_mono_ns < resync_next_mono_ns_ + resync_interval_ns_;
  resync_interval_ns_ = in_a_row ? std::min(resync_interval_ns_ * 2, kResyncMaxNs) : kResyncMinNs;
  resync_next_mono_ns_ = now_mono_ns + resync_interval_ns_;
  resync_wanted_ = false;
  Scan();
}

// --- Identity ------------------------------------------------------------------------------------

bool ProcessTable::SameStart(const Process& process, uint64_t start_boot_ns, bool is_exact) const {
  if (process.start_boot_ns == 0 || start_boot_ns == 0) return true;
  if (process.start_is_exact && is_exact) return process.start_boot_ns == start_boot_ns;
  return process.start_boot_ns / proc_.TickNs() == start_boot_ns / proc_.TickNs();
}

void ProcessTable::NoteStart(Process& process, uint64_t start_boot_ns, bool is_exact) {
  if (start_boot_ns == 0 || process.start_is_exact) return;
  if (process.start_boot_ns == start_boot_ns && !is_exact) return;
  process.start_boot_ns = start_boot_ns;
  process.start_is_exact = is_exact;
  images_.SetOwnerStart(process.owner, start_boot_ns);
  list_.NoteChange(process.pid);
  if (process.task != TaskId()) tasks_.SetStart(process.task, start_boot_ns);
}

void ProcessTable::NoteExec(Process& process, uint32_t exec_id, uint64_t observed_mono_ns) {
  // What was seen before the newest exec that we know of says nothing about it.
  if (exec_id == 0 || observed_mono_ns < process.generation_mono_ns) return;
  const uint32_t before = process.exec_id;
  if (exec_id == before) {
    process.exec_id_mono_ns = std::max(process.exec_id_mono_ns, observed_mono_ns);
    return;
  }
  if (observed_mono_ns < process.exec_id_mono_ns) return;
  if (before != 0 && static_cast<int32_t>(exec_id - before) > 0) {
    ++counters_.execs_missed;
    StartGeneration(process, observed_mono_ns, exec_id);
    ForgetCode(process, 0);  // some time before
    ReadFromProc(process.pid, KernelThreads::kKeep);
    return;
  }
  process.exec_id = exec_id;
  process.exec_id_mono_ns = observed_mono_ns;
  list_.NoteChange(process.pid);
}

Process* ProcessTable::IncarnationOf(const SampledThread& thread) {
  Process* process = list_.Get(thread.pid);
  if (process == nullptr) return nullptr;
  if (!SameStart(*process, thread.start_boot_ns, true)) {
    if (thread.start_boot_ns < process->start_boot_ns) {
      return list_.FindRetired([&](const Process& retired) {
        return retired.pid == thread.pid && SameStart(retired, thread.start_boot_ns, true);
      });
    }
    ++counters_.pids_reused_unseen;
    Retire(*process);
    ReadWithBackOff(thread.pid);
    process = list_.Get(thread.pid);
    if (process == nullptr || !SameStart(*process, thread.start_boot_ns, true)) return nullptr;
  }
  NoteStart(*process, thread.start_boot_ns, true);
  NoteExec(*process, thread.exec_id, thread.time_mono_ns);
  return list_.Get(thread.pid);
}

void ProcessTable::NoteExecId(uint32_t pid, uint32_t exec_id, uint64_t start_boot_ns,
                              uint64_t observed_mono_ns) {
  IncarnationOf({pid, start_boot_ns, exec_id, observed_mono_ns, {}});
}

// --- Code ----------------------------------------------------------------------------------------

// 0 when there is none that we know.
uint32_t ProcessTable::LivingAncestorOf(const Process& process) {
  const Process* ancestor =
      list_.FindAncestor(process, [](const Process& candidate) { return !candidate.exited; });
  return ancestor == nullptr ? 0 : ancestor->pid;
}

ImageId ProcessTable::GeneratedCodeOf(uint32_t pid, ImageId mapped) {
  Process* process = list_.Get(pid);
  if (process == nullptr || process->owner.inherited_code == ImageId()) return mapped;
  return images_.GeneratedCode(process->owner);
}

void ProcessTable::MarkImages(std::vector<bool>& needed) const {
  list_.ForEach([&](const Process& process) {
    for (const Mapping& mapping : process.mappings.all()) needed[mapping.image.value()] = true;
    needed[process.owner.generated_code.value()] = true;
    needed[process.owner.inherited_code.value()] = true;
  });
}

std::optional<MappingPlace> ProcessTable::FindMapping(ImageId image) const {
  for (const auto& [pid, process] : list_.newest()) {
    if (process.exited) continue;
    for (const Mapping& mapping : process.mappings.all()) {
      if (mapping.image == image) return MappingPlace{pid, mapping.start, mapping.end};
    }
  }
  return std::nullopt;
}

}  // namespace vesta::agent::process
