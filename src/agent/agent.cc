#include "src/agent/agent.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>
#include <map>
#include <string_view>

#include "src/agent/generated_code.h"
#include "src/agent/stop_reason.h"
#include "src/object/elf_file.h"
#include "src/object/go_unwind.h"
#include "src/object/unwind_table.h"

namespace vesta::agent {
namespace {

// Samples wait at most this long for us. While programs start and end it is shorter, since the
// stacks of a process that is not known yet have to be copied.
constexpr uint64_t kPollNs = 100'000'000;
constexpr uint64_t kPollBusyNs = 20'000'000;
constexpr uint64_t kHousekeepingNs = 1'000'000'000;
// A pass looks at every mapping and every node of the stacks: some milliseconds.
constexpr uint64_t kRecyclingNs = 5'000'000'000;
// Far longer than the deepest walk in the kernel, which takes less than a millisecond.
constexpr uint64_t kGraceNs = 20'000'000;

// Names of generated code are read this soon after a sample: it moves, and its process may end.
constexpr uint64_t kGeneratedNamesNs = 250'000'000;
// Of one image between two readings: some thousand samples of deep stacks.
constexpr size_t kGeneratedAddressesMax = 65'536;

constexpr uint32_t kTableSlots = 16'384;
// Of the kernel's array of mappings; 500 processes of 40 mappings need 20,000.
constexpr uint32_t kMappingsMin = 16'384;
constexpr uint32_t kMappingsMax = 131'072;    // as far as the walker's search reaches
constexpr uint64_t kRingBytesMin = 4u << 20;  // a stack copy takes up to 48 KiB
constexpr uint64_t kRecordBytesTypical = 1024;

// What the process itself needs: code, libraries, images, processes, and names at the end.
constexpr uint64_t kBaseBytes = 24u << 20;

// Two percent of the memory; 65,536 where that is 100 MB.
uint32_t MappingsMax(const AgentOptions& options) {
  const uint64_t wanted = std::bit_floor(options.memory_limit_bytes / 50 / sizeof(abi_mapping));
  return static_cast<uint32_t>(std::clamp(wanted, uint64_t{kMappingsMin}, uint64_t{kMappingsMax}));
}

uint64_t RingBytes(const AgentOptions& options) {
  if (options.ring_bytes != 0) return options.ring_bytes;
  // Room for one second of full load: ten polls may be missed.
  const auto cpus = static_cast<uint64_t>(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  const uint64_t wanted = cpus * options.frequency_hz * kRecordBytesTypical;
  const uint64_t most = std::bit_floor(options.memory_limit_bytes / 8);
  return std::clamp(std::bit_ceil(wanted), kRingBytesMin, std::max(most, kRingBytesMin));
}

// Half of what the limit allows: sampling has the rest. 0 = there is no limit.
uint64_t IndexingNsPerS(uint32_t limit_milli_percent, uint32_t cpus) {
  if (limit_milli_percent >= 100'000) return 0;
  return uint64_t{limit_milli_percent} * cpus * 1'000'000'000 / 100'000 / 2;
}

uint64_t ProcessCpuNs() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

std::string_view CommOf(const abi_sample& sample) {
  return {sample.comm, ::strnlen(sample.comm, sizeof(sample.comm))};
}

profile::Frame ToFrame(const abi_frame& frame) {
  return {
      frame.address, profile::ImageId(frame.image_id),
      frame.kind == ABI_FRAME_IMAGE ? profile::FrameKind::kNative : profile::FrameKind::kProcess,
      (frame.flags & ABI_FRAME_INTERRUPTED) != 0};
}

}  // namespace

Agent::Budget Agent::Divide(const AgentOptions& options) {
  Budget budget;
  const uint64_t limit = options.memory_limit_bytes;
  const uint64_t free_bytes = limit > kBaseBytes ? limit - kBaseBytes : limit / 4;
  budget.table_bytes =
      options.table_budget_bytes != 0 ? options.table_budget_bytes : free_bytes * 2 / 5;
  budget.aggregate_bytes = free_bytes / 2;
  budget.generated_names_bytes = limit / 16;
  return budget;
}

base::Result<std::unique_ptr<Agent>> Agent::Create(const AgentOptions& options) {
  source::KernelSourceOptions source_options;
  source_options.tick = options.tick;
  source_options.frequency_hz = options.frequency_hz;
  source_options.ring_bytes = static_cast<uint32_t>(RingBytes(options));
  source_options.mappings_max = MappingsMax(options);
  source_options.table_slots = kTableSlots;
  source_options.chosen_processes_only = options.chosen_processes_only;
  source_options.follow_children = options.follow_children;
  source_options.loop = options.loop;
  ASSIGN_OR_RETURN(auto source, source::KernelSource::Load(source_options));
  std::unique_ptr<Agent> agent(new Agent(options, Divide(options), std::move(source)));
  for (const uint32_t pid : options.pids) RETURN_IF_ERROR(agent->ChooseProcess(pid));
  return agent;
}

Agent::Agent(const AgentOptions& options, const Budget& budget,
             std::unique_ptr<source::KernelSource> source)
    : options_(options),
      budget_(budget),
      ring_bytes_(RingBytes(options)),
      source_(std::move(source)),
      images_(proc_, {}),
      processes_(proc_, images_, {.exclusion_rule = options.exclusion_rule}),
      namer_(images_, options.naming),
      publisher_(source_->kernel_tables()),
      tables_(source_->kernel_tables(), budget.table_bytes,
              [this](uint32_t image_id) { return BuildTable(image_id); }),
      finders_([this](uint32_t image_id) { return OpenFrameFinder(image_id); }, {}),
      finisher_(source_->kernel_tables(), finders_),
      generated_names_("/proc", {.kept_bytes_max = budget.generated_names_bytes}),
      unwanted_([this](uint32_t pid, const abi_unwanted* unwanted) {
        return source_->SetUnwanted(pid, unwanted);
      }),
      aggregator_(budget.aggregate_bytes),
      governor_({options.cpu_limit_milli_percent, options.frequency_hz}) {}

base::Result<void> Agent::Start() {
  LearnProcesses();
  taken_until_mono_ns_ = proc_.NowMonoNs();
  RETURN_IF_ERROR(source_->Start());
  ObeyCpuLimit(proc_.NowMonoNs());
  return {};
}

void Agent::LearnProcesses() {
  const uint64_t scanned_mono_ns = proc_.NowMonoNs();
  processes_.Scan();
  for (const abi_task_identity& task : source_->ListTasks()) {
    if (processes_.Find(task.tgid) == nullptr) continue;
    processes_.NoteExecId(task.tgid, task.exec_id, task.start_boot_ns, scanned_mono_ns);
  }
  PublishChanged();
}

void Agent::Poll(uint64_t wait_ns_max) {
  const bool poll_soon = busy_ && level_.extras;
  if (!batch_.more) source_->Wait(std::min(wait_ns_max, poll_soon ? kPollBusyNs : kPollNs));
  TakeBatch();
}

void Agent::Stop() {
  source_->Stop();
  do {
    TakeBatch();
  } while (batch_.more);
}

void Agent::TakeBatch() {
  const uint64_t asked_before = finish_book_.asked;
  const uint64_t asked_mono_ns = proc_.NowMonoNs();
  source_->Take(batch_);
  if (!batch_.more) taken_until_mono_ns_ = std::max(taken_until_mono_ns_, asked_mono_ns);
  if (!batch_.samples.empty()) {
    const uint64_t last_mono_ns = batch_.samples.back().sample->time_mono_ns;
    taken_until_mono_ns_ = std::max(taken_until_mono_ns_, last_mono_ns);
  }
  const uint64_t now_mono_ns = proc_.NowMonoNs();
  if (now_mono_ns - grace_started_mono_ns_ >= kGraceNs) {
    grace_started_mono_ns_ = now_mono_ns;
    publisher_.EndGracePeriod();
  }
  tables_.NextPeriod(now_mono_ns);
  auto event = batch_.process_events.begin();
  const auto apply_until = [&](uint64_t time_mono_ns) {
    const auto first = event;
    while (event != batch_.process_events.end() && event->time_mono_ns <= time_mono_ns) {
      processes_.Apply(*event++);
    }
    if (event != first) PublishChanged();
  };
  for (const source::SampleRecord& record : batch_.samples) {
    apply_until(record.sample->time_mono_ns);
    TakeSample(record);
  }
  apply_until(~uint64_t{0});
  processes_.Advance(now_mono_ns);
  PublishChanged();
  // Tables that could not be published stay unknown to the kernel, which then sends stacks.
  if (!source_->kernel_tables().Publish().ok()) ++finish_book_.tables_not_published;
  busy_ = !batch_.process_events.empty() || finish_book_.asked != asked_before;
  if (level_.extras && now_mono_ns >= generated_names_next_mono_ns_) {
    generated_names_next_mono_ns_ = now_mono_ns + kGeneratedNamesNs;
    ReadGeneratedNames();
  }
  namer_.Poll(now_mono_ns);
  if (now_mono_ns >= housekeeping_next_mono_ns_) Housekeep(now_mono_ns);
}

void Agent::NoteGeneratedCode(uint32_t pid, profile::Frame& frame) {
  frame.image = processes_.GeneratedCodeOf(pid, frame.image);
  const auto [code, is_new] = generated_code_.try_emplace(frame.image);
  if (code->second.size() < kGeneratedAddressesMax) code->second.push_back(frame.address);
  if (!is_new) return;
  // A runtime that writes names down maps the file, so that it is found.
  const process::Process* process = processes_.Find(pid);
  if (process == nullptr) return;
  for (const process::Mapping& mapping : process->mappings.all()) {
    const process::Image& image = images_.image(mapping.image);
    if (image.kind != process::ImageKind::kUnreadable) continue;
    runtime::ImageFacts facts;
    facts.path = image.path;
    if (!generated_names_.Detect(facts)) continue;
    // Without its file the code stays unnamed.
    static_cast<void>(
        generated_names_.Prepare(NamersOf(images_.image(code->first), images_).front(), facts)
            .ok());
  }
}

void Agent::ReadGeneratedNames() {
  // By pid and exec: workers share their parent.
  std::map<std::pair<uint32_t, uint64_t>, std::pair<runtime::ProcessKey, std::vector<uint64_t>>>
      wanted;
  for (const auto& [code, addresses] : generated_code_) {
    for (const runtime::ProcessKey& namer : NamersOf(images_.image(code), images_)) {
      auto& [key, frames] = wanted[{namer.pid, namer.exec_mono_ns}];
      key = namer;
      frames.insert(frames.end(), addresses.begin(), addresses.end());
    }
  }
  for (auto& [program, of_process] : wanted) {
    auto& [key, frames] = of_process;
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    generated_names_.Remember(key, frames);
  }
  generated_code_.clear();
}

void Agent::TakeSample(const source::SampleRecord& record) {
  const abi_sample& sample = *record.sample;
  const process::TaskId task =
      processes_.TaskOf({sample.tgid, sample.process_start_boot_ns, sample.exec_id,
                         sample.time_mono_ns, CommOf(sample)});
  if (const process::TaskInfo& info = processes_.task(task);
      info.exclusion != process::Exclusion::kNone) {
    unwanted_.Note(info, sample);
    return;
  }
  auto reason = static_cast<abi_stop_reason>(sample.stop_reason);
  std::span<const abi_frame> user = record.user;
  unwind::FinishedWalk finished;
  if (record.resume != nullptr) {
    finished = FinishWalk(record);
    user = finished.frames;
    reason = finished.reason;
  }
  user = unwind::WithoutWrongGuess(user, reason);

  // Matters where code moves, too.
  uint64_t kept_time_mono_ns = options_.keep_times ? sample.time_mono_ns : 0;
  frames_.clear();
  for (size_t i = 0; i < record.kernel.size(); ++i) {
    // The kernel's own walk gives return addresses as they are.
    const bool interrupted = i == 0;
    frames_.push_back({record.kernel[i] - (interrupted ? 0 : 1), profile::ImageId(),
                       profile::FrameKind::kKernel, interrupted});
  }
  for (const abi_frame& frame : user) {
    frames_.push_back(ToFrame(frame));
    if (frame.kind != ABI_FRAME_IMAGE) continue;
    tables_.Touch(frame.image_id);
    namer_.Want(profile::ImageId(frame.image_id));
    const process::Image& image = images_.image(profile::ImageId(frame.image_id));
    if (image.kind == process::ImageKind::kAnonymous) {
      NoteGeneratedCode(sample.tgid, frames_.back());
      kept_time_mono_ns = sample.time_mono_ns;
    }
  }
  const aggregate::ThreadId thread =
      aggregator_.InternThread(task.value(), sample.tgid, sample.tid, CommOf(sample));
  aggregator_.Add(thread, frames_, reason, sample.value * sample.weight, kept_time_mono_ns);
}

unwind::FinishedWalk Agent::FinishWalk(const source::SampleRecord& record) {
  const abi_sample& sample = *record.sample;
  const unwind::ProcessPublisher::Identity identity{sample.process_start_boot_ns, sample.exec_id};
  ++finish_book_.asked;
  // One that found no room is tried again after the next Housekeep, or when it has changed.
  if (!publisher_.Knows(sample.tgid, identity) && refused_pids_.count(sample.tgid) == 0) {
    Publish(sample.tgid);
  }

  bool refreshed = false;
  unwind::WalkFinisher::Callbacks callbacks;
  callbacks.mappings = [&]() -> std::span<const abi_mapping> {
    if (publisher_.Knows(sample.tgid, identity)) return publisher_.Mappings(sample.tgid);
    return MappingsOf(sample.tgid, identity);
  };
  callbacks.refresh_mappings = [&] {
    // Where that did not help, it is not tried again before the next Housekeep: some processes have
    // tens of thousands of mappings.
    if (refreshed || no_copy_pids_.count(sample.tgid) != 0) return false;
    refreshed = true;
    if (!processes_.Rescan(sample.tgid)) return false;
    Publish(sample.tgid);
    return true;
  };
  callbacks.load_table = [&](uint32_t slot) { return tables_.Ensure(slot).ok(); };
  auto finished = finisher_.Finish(record.user, *record.resume, record.stack, callbacks);
  const bool is_complete = InfoOf(finished.reason).is_complete;
  if (finished.used_all_registers) {
    ++finish_book_.with_all_registers;
    if (is_complete) ++finish_book_.with_all_registers_completed;
  }
  if (sample.stop_reason == ABI_STOP_RULE_UNSUPPORTED &&
      !rule_copy_limit_.Note(sample.tgid, is_complete)) {
    publisher_.AllowRuleCopies(sample.tgid, false);
  }
  if (is_complete) {
    ++finish_book_.completed;
  } else if (finished.reason == ABI_STOP_NO_MAPPING || finished.reason == ABI_STOP_NO_TABLE) {
    // Copies do not help this process now; Housekeep lets it try again.
    publisher_.AllowStackCopies(sample.tgid, false);
    no_copy_pids_.insert(sample.tgid);
  }
  return finished;
}

void Agent::PublishChanged() {
  for (const uint32_t pid : processes_.TakeChanged()) Publish(pid);
}

// Tells the kernel of the process, or that there is none.
void Agent::Publish(uint32_t pid) {
  if (described_pid_ == pid) described_pid_ = 0;
  const process::Process* process = processes_.Find(pid);
  if (process == nullptr || process->exited) unwanted_.Forget(pid);
  // The count of execs may be unknown yet; the first sample brings it.
  if (process == nullptr || process->exited || process->is_kernel_thread || process->exec_id == 0) {
    publisher_.Remove(pid);
    return;
  }
  Describe(*process);
  // Without room the process stays unknown to the kernel, which sends its stacks.
  const uint64_t start_boot_ns = process->start_is_exact ? process->start_boot_ns : 0;
  if (publisher_.Publish(pid, {start_boot_ns, process->exec_id}, mappings_).ok()) {
    refused_pids_.erase(pid);
  } else {
    refused_pids_.insert(pid);
  }
}

// Of a process that the kernel does not know, although we do.
std::span<const abi_mapping> Agent::MappingsOf(uint32_t pid,
                                               const unwind::ProcessPublisher::Identity& identity) {
  const process::Process* process = processes_.Find(pid);
  if (process == nullptr || process->exec_id != identity.exec_id) return {};
  if (process->start_is_exact && process->start_boot_ns != identity.start_boot_ns) return {};
  if (described_pid_ != pid) Describe(*process);
  return mappings_;
}

void Agent::Describe(const process::Process& process) {
  described_pid_ = process.pid;
  mappings_.clear();
  for (const process::Mapping& mapping : process.mappings.all()) {
    const uint32_t image_id = mapping.image.value();
    const process::ImageKind kind = images_.image(mapping.image).kind;
    const bool has_table =
        (kind == process::ImageKind::kElf || kind == process::ImageKind::kVdso) &&
        image_id < kTableSlots;
    mappings_.push_back({mapping.start, mapping.end, mapping.bias, image_id,
                         has_table ? image_id : uint32_t{ABI_TABLE_SLOT_NONE}});
  }
}

base::Result<object::UnwindTable> Agent::BuildTable(uint32_t image_id) {
  ASSIGN_OR_RETURN(const auto source, images_.Open(profile::ImageId(image_id)));
  ASSIGN_OR_RETURN(const object::ElfFile elf, object::ElfFile::Parse(*source));
  std::vector<object::RowRange> go_ranges;
  // A Go file whose function table is damaged still has frame pointers.
  if (auto ranges = object::GoUnwindRanges(elf, *source); ranges.ok()) {
    go_ranges = std::move(ranges).value();
  }
  return object::BuildUnwindTable(elf, *source, go_ranges);
}

base::Result<std::unique_ptr<object::FrameFinder>> Agent::OpenFrameFinder(uint32_t image_id) {
  ASSIGN_OR_RETURN(auto source, images_.Open(profile::ImageId(image_id)));
  ASSIGN_OR_RETURN(const object::ElfFile elf, object::ElfFile::Parse(*source));
  return object::FrameFinder::Open(elf, std::move(source));
}

uint64_t Agent::memory_bytes() const {
  if (options_.shares_process) {
    return kBaseBytes + ring_bytes_ + tables_.used_bytes() + aggregator_.memory_bytes() +
           generated_names_.memory_bytes() + finders_.memory_bytes();
  }
  uint64_t resident_pages = 0;
  // Second number of statm: resident pages, mapped tables and rings included.
  if (const auto statm = base::ReadSmallFile("/proc/self/statm"); statm.ok()) {
    const size_t space = statm->find(' ');
    if (space != std::string::npos) resident_pages = std::strtoull(&(*statm)[space], nullptr, 10);
  }
  const uint64_t resident_bytes = resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  // The ring's data is mapped twice in a row, so that no record wraps; statm counts both.
  return resident_bytes - std::min(resident_bytes, ring_bytes_);
}

void Agent::ObeyCpuLimit(uint64_t now_mono_ns) {
  const uint64_t own_ns =
      (options_.own_cpu_ns ? options_.own_cpu_ns() : ProcessCpuNs()) + namer_.helper_cpu_ns();
  const uint64_t program_ns = source_->ReadBook().page.value[ABI_COUNTER_program_time_ns];
  const uint32_t before = governor_.step();
  const uint32_t step = governor_.Take({now_mono_ns, own_ns, program_ns, cpus_});
  if (step != before) SetLevel(governor_.LevelOf(step));
  namer_.SetPace({step == 0, IndexingNsPerS(options_.cpu_limit_milli_percent, cpus_)});
}

void Agent::SetLevel(const limits::Level& level) {
  const bool was_sampling = level_.sampling;
  level_ = level;
  source_->SetRateShift(level.rate_shift);
  source_->AllowStackCopies(level.extras);
  if (is_paused_) return;
  if (was_sampling && !level.sampling) source_->Pause();
  if (!was_sampling && level.sampling) ResumeSource();
}

void Agent::SetPaused(bool is_paused) {
  if (is_paused == is_paused_) return;
  is_paused_ = is_paused;
  if (!level_.sampling) return;  // it does not sample as it is
  if (is_paused_) {
    source_->Pause();
  } else {
    ResumeSource();
  }
}

void Agent::ResumeSource() {
  // A CPU that cannot be opened now is tried again in a second.
  static_cast<void>(source_->Resume().ok());
  LearnProcesses();
}

// Only when no sample is on its way: what is needed is then known.
void Agent::RecycleImages() {
  std::vector<bool> needed(images_.id_limit());
  processes_.MarkImages(needed);
  aggregator_.MarkImages(needed);
  for (const auto& [code, addresses] : generated_code_) needed[code.value()] = true;
  if (mark_held_images_) mark_held_images_(needed);
  // All that is kept by an image's number has to forget it here.
  for (const profile::ImageId id : images_.Recycle(std::move(needed))) {
    tables_.Forget(id.value());
    finders_.Forget(id.value());
    namer_.Forget(id);
  }
}

void Agent::Housekeep(uint64_t now_mono_ns) {
  housekeeping_next_mono_ns_ = now_mono_ns + kHousekeepingNs;
  // A CPU that cannot be opened now is tried again in a second.
  if (const auto cpus = source_->UpdateCpus(); cpus.ok() && *cpus != 0) {
    cpus_ = static_cast<uint32_t>(*cpus);
  }
  images_.ReleaseMounts();
  unwanted_.Review(now_mono_ns);
  ObeyCpuLimit(now_mono_ns);
  refused_pids_.clear();
  for (const uint32_t pid : no_copy_pids_) publisher_.AllowStackCopies(pid, true);
  no_copy_pids_.clear();
  for (const uint32_t pid : rule_copy_limit_.BeginPeriod()) publisher_.AllowRuleCopies(pid, true);
  if (images_.IsCrowded() && !batch_.more && now_mono_ns >= recycling_next_mono_ns_) {
    recycling_next_mono_ns_ = now_mono_ns + kRecyclingNs;
    RecycleImages();
  }
  const uint64_t used_bytes = memory_bytes();
  if (used_bytes < options_.memory_limit_bytes / 10 * 8) {
    tables_.SetBudget(budget_.table_bytes);
    aggregator_.SetMemoryLimit(budget_.aggregate_bytes);
  } else if (used_bytes > options_.memory_limit_bytes / 10 * 9) {
    // Tables can be built again, samples cannot: they go first.
    tables_.SetBudget(std::max<uint64_t>(tables_.used_bytes() / 2, ABI_TABLE_BLOCK_BYTES));
    if (used_bytes > options_.memory_limit_bytes) {
      aggregator_.SetMemoryLimit(aggregator_.memory_bytes());
    }
  }
}

}  // namespace vesta::agent
