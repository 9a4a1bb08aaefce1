#include "src/agent/source/kernel_source.h"

#include <agent.skel.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "src/agent/source/kernel_maps.h"
#include "src/agent/source/process_news.h"
#include "src/base/descriptor.h"

namespace vesta::agent::source {
namespace {

constexpr size_t kNewsRingPages = 32;      // 128 KiB per CPU: some 1,000 mappings between two polls
constexpr uint64_t kTicksUnderWayMax = 2;  // on a CPU: one, and the one that it interrupted
// Records of one batch: a ring of any size is taken in portions of bounded memory.
constexpr size_t kBatchBytesMax = 4u << 20;

// libbpf prints why a program was refused; kept for the error message instead of the terminal.
thread_local std::string libbpf_log;
// The last lines say what was wrong: of the verifier, long after its first ones.
constexpr size_t kLogBytesMax = 16'384;
constexpr size_t kLogTailBytes = 600;

int KeepLog(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  va_list counted;
  va_copy(counted, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, counted);
  va_end(counted);
  if (length <= 0) return 0;
  std::string line(static_cast<size_t>(length) + 1, '\0');
  std::vsnprintf(line.data(), line.size(), format, arguments);
  line.pop_back();
  libbpf_log += line;
  if (libbpf_log.size() > kLogBytesMax) libbpf_log.erase(0, libbpf_log.size() - kLogBytesMax);
  return 0;
}

std::string LogTail() {
  if (libbpf_log.size() <= kLogTailBytes) return libbpf_log;
  return "..." + libbpf_log.substr(libbpf_log.size() - kLogTailBytes);
}

base::Error LoadError(int errno_value) {
  const std::string what = "loading the BPF programs";
  // The verifier, too, says EACCES, of a program that it does not take.
  const bool is_verdict = libbpf_log.find("processed ") != std::string::npos;
  if (errno_value == EPERM || (errno_value == EACCES && !is_verdict)) {
    return base::Error(base::ErrorCode::kPermission,
                       what +
                           ": the kernel refuses; run as root, or with CAP_BPF and CAP_PERFMON "
                           "(`vesta doctor` tells what is missing)");
  }
  return base::ErrnoError(what, errno_value)
      .Context("`vesta doctor` tells what this kernel lacks; kernel said: " + LogTail());
}

class LiveKernelSource final : public KernelSource {
 public:
  explicit LiveKernelSource(const KernelSourceOptions& options) : options_(options) {}
  ~LiveKernelSource() override;

  base::Result<void> LoadPrograms(bool with_bpf_loop);
  base::Result<void> Prepare();

  base::Result<void> Start() override;
  void Stop() override;
  base::Result<size_t> UpdateCpus() override;
  void SetRateShift(uint32_t rate_shift) override;
  void AllowStackCopies(bool allowed) override;
  void Pause() override;
  base::Result<void> Resume() override;
  base::Result<void> ChooseProcess(uint32_t tgid) override;
  bool SetUnwanted(uint32_t tgid, const abi_unwanted* unwanted) override;
  void Wait(uint64_t wait_ns_max) override;
  void Take(KernelBatch& batch) override;
  std::vector<abi_task_identity> ListTasks() override;
  unwind::KernelTables& kernel_tables() override { return *maps_; }
  KernelBook ReadBook() override;

 private:
  struct Tick {
    bpf_link* link = nullptr;
    int event_fd = -1;  // closed by the link
  };

  base::Result<void> Attach(bpf_program* program, const char* what);
  base::Result<void> AddTick(int cpu);
  bool CollectRecord(const void* record, size_t size_bytes);
  void TakeEvents(KernelBatch& batch);
  const bpf_program* sample_program() const {
    return uses_bpf_loop_ ? skeleton_->progs.on_cpu_sample_loop
                          : skeleton_->progs.on_cpu_sample_bounded;
  }

  KernelSourceOptions options_;
  agent_bpf* skeleton_ = nullptr;
  bool uses_bpf_loop_ = false;
  bool started_ = false;
  std::unique_ptr<KernelMaps> maps_;
  ring_buffer* ring_ = nullptr;
  int wake_fd_ = -1;
  std::optional<ProcessNews> news_;
  std::map<int, Tick> ticks_;  // by CPU
  uint32_t rate_shift_ = 0;
  std::vector<bpf_link*> follow_links_;
  std::unordered_set<uint32_t> unwanted_;

  KernelBatch* collecting_ = nullptr;
  std::vector<std::pair<size_t, size_t>> record_ranges_;
  std::vector<process::ProcessEvent> waiting_events_;     // ordered by time
  std::unordered_map<uint32_t, uint64_t> next_sequence_;  // by CPU
  uint64_t sequence_gaps_ = 0;
  uint64_t damaged_records_ = 0;
};

LiveKernelSource::~LiveKernelSource() {
  Stop();
  for (bpf_link* link : follow_links_) bpf_link__destroy(link);
  if (wake_fd_ >= 0) ::close(wake_fd_);
  if (ring_ != nullptr) ring_buffer__free(ring_);
  if (skeleton_ != nullptr) agent_bpf__destroy(skeleton_);
}

// Kernels before 6.1 want the entries of hash maps allocated before a tick may look into them.
bool TakesHashMapsThatGrow() {
  LIBBPF_OPTS(bpf_map_create_opts, on_need, .map_flags = BPF_F_NO_PREALLOC);
  const base::Descriptor map(bpf_map_create(BPF_MAP_TYPE_HASH, "vesta_probe", sizeof(uint32_t),
                                            sizeof(uint32_t), 1, &on_need));
  if (map.fd() < 0) return false;
  const bpf_insn program[] = {
      {BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map.fd()},
      {0, 0, 0, 0, 0},
      {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
      {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
  };
  const base::Descriptor loaded(bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "vesta_probe", "GPL",
                                              program, std::size(program), nullptr));
  return loaded.fd() >= 0;
}

base::Result<void> LiveKernelSource::LoadPrograms(bool with_bpf_loop) {
  libbpf_log.clear();
  skeleton_ = agent_bpf__open();
  if (skeleton_ == nullptr) return LoadError(errno);
  bpf_map__set_max_entries(skeleton_->maps.samples, options_.ring_bytes);
  bpf_map__set_max_entries(skeleton_->maps.mappings, options_.mappings_max);
  bpf_map__set_max_entries(skeleton_->maps.tables, options_.table_slots);
  if (!options_.chosen_processes_only)
    bpf_map__set_max_entries(skeleton_->maps.chosen_processes, 1);
  if (!TakesHashMapsThatGrow()) {
    for (bpf_map* map : {skeleton_->maps.processes, skeleton_->maps.chosen_processes,
                         skeleton_->maps.unwanted_processes}) {
      bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~uint32_t{BPF_F_NO_PREALLOC});
    }
  }
  skeleton_->rodata->filter_by_process = options_.chosen_processes_only ? 1 : 0;
  skeleton_->rodata->ring_bytes = options_.ring_bytes;
  // Eight copies fit the ring, however small it is.
  skeleton_->rodata->stack_copy_pages = std::clamp<uint32_t>(
      options_.ring_bytes / 8 / ABI_TABLE_BLOCK_BYTES, 1, ABI_STACK_COPY_PAGES_MAX);
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 1) return base::ErrnoError("counting CPUs", -cpus);
  bpf_map__set_max_entries(skeleton_->maps.scratches, static_cast<uint32_t>(cpus));
  bpf_program__set_autoload(skeleton_->progs.on_cpu_sample_loop, with_bpf_loop);
  bpf_program__set_autoload(skeleton_->progs.on_cpu_sample_bounded, !with_bpf_loop);
  bpf_program__set_autoload(skeleton_->progs.choose_child, options_.follow_children);
  bpf_program__set_autoload(skeleton_->progs.forget_exited, options_.chosen_processes_only);
  const int status = agent_bpf__load(skeleton_);
  if (status != 0) {
    agent_bpf__destroy(skeleton_);
    skeleton_ = nullptr;
    return LoadError(-status);
  }
  uses_bpf_loop_ = with_bpf_loop;
  return {};
}

base::Result<void> LiveKernelSource::Prepare() {
  const KernelMaps::Descriptors maps{bpf_map__fd(skeleton_->maps.mappings),
                                     bpf_map__fd(skeleton_->maps.tables),
                                     bpf_map__fd(skeleton_->maps.processes)};
  ASSIGN_OR_RETURN(maps_, KernelMaps::Open(maps, options_.mappings_max, options_.table_slots));

  const auto collect = [](void* context, void* record, size_t size_bytes) {
    return static_cast<LiveKernelSource*>(context)->CollectRecord(record, size_bytes) ? 0 : -1;
  };
  const int ring_fd = bpf_map__fd(skeleton_->maps.samples);
  ring_ = ring_buffer__new(ring_fd, collect, this, nullptr);
  if (ring_ == nullptr) return base::ErrnoError("mapping the sample ring", errno);
  // Edge triggered, unlike libbpf's own: a ring that is not empty must not wake us, only the kernel
  // program's word that it is half full.
  wake_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (wake_fd_ < 0 || ::epoll_ctl(wake_fd_, EPOLL_CTL_ADD, ring_fd, &event) != 0) {
    return base::ErrnoError("watching the sample ring", errno);
  }
  if (options_.follow_children) RETURN_IF_ERROR(Attach(skeleton_->progs.choose_child, "forks"));
  if (options_.chosen_processes_only) {
    RETURN_IF_ERROR(Attach(skeleton_->progs.forget_exited, "exits"));
  }
  ASSIGN_OR_RETURN(ProcessNews news, ProcessNews::Open(kNewsRingPages));
  news_.emplace(std::move(news));
  return {};
}

base::Result<void> LiveKernelSource::Attach(bpf_program* program, const char* what) {
  bpf_link* link = bpf_program__attach(program);
  if (link == nullptr) return base::ErrnoError(std::string("following ") + what, errno);
  follow_links_.push_back(link);
  return {};
}

base::Result<void> LiveKernelSource::AddTick(int cpu) {
  ASSIGN_OR_RETURN(PerfEvent event, OpenTick(options_.tick, cpu, options_.frequency_hz));
  bpf_link* link = bpf_program__attach_perf_event(sample_program(), event.fd());
  if (link == nullptr) {
    return base::ErrnoError("attaching the sampling program to CPU " + std::to_string(cpu), errno);
  }
  // The link closes the event; libbpf has enabled it.
  const Tick tick{link, event.Release()};
  ticks_.emplace(cpu, tick);
  if (rate_shift_ == 0) return {};
  return SetTickRate(tick.event_fd, TickRateOf(options_.tick, options_.frequency_hz, rate_shift_));
}

void LiveKernelSource::SetRateShift(uint32_t rate_shift) {
  rate_shift_ = rate_shift;
  const TickRate rate = TickRateOf(options_.tick, options_.frequency_hz, rate_shift);
  // The kernel has no reason to refuse; an event that is none any more is opened anew.
  for (auto tick = ticks_.begin(); tick != ticks_.end();) {
    if (SetTickRate(tick->second.event_fd, rate).ok()) {
      ++tick;
    } else {
      bpf_link__destroy(tick->second.link);
      tick = ticks_.erase(tick);
    }
  }
  skeleton_->data->tick_weight_q16 = rate.weight_q16;
}

void LiveKernelSource::AllowStackCopies(bool allowed) {
  skeleton_->data->stack_copies_allowed = allowed ? 1 : 0;
}

void LiveKernelSource::Pause() {
  Stop();
  news_->SetCollecting(false);
}

base::Result<void> LiveKernelSource::Resume() {
  news_->SetCollecting(true);
  return Start();
}

base::Result<void> LiveKernelSource::Start() {
  started_ = true;
  ASSIGN_OR_RETURN(const size_t count, UpdateCpus());
  if (count == 0) return base::Error(base::ErrorCode::kUnavailable, "no CPU is online");
  return {};
}

void LiveKernelSource::Stop() {
  started_ = false;
  for (auto& [cpu, tick] : ticks_) bpf_link__destroy(tick.link);
  ticks_.clear();
}

base::Result<size_t> LiveKernelSource::UpdateCpus() {
  ASSIGN_OR_RETURN(const std::vector<int> online, OnlineCpus());
  for (auto it = ticks_.begin(); it != ticks_.end();) {
    if (std::find(online.begin(), online.end(), it->first) == online.end()) {
      bpf_link__destroy(it->second.link);
      it = ticks_.erase(it);
    } else {
      ++it;
    }
  }
  RETURN_IF_ERROR(news_->UpdateCpus(online));
  if (started_) {
    for (const int cpu : online) {
      if (ticks_.count(cpu) == 0) RETURN_IF_ERROR(AddTick(cpu));
    }
  }
  return ticks_.size();
}

base::Result<void> LiveKernelSource::ChooseProcess(uint32_t tgid) {
  const uint8_t chosen = 1;
  if (bpf_map__update_elem(skeleton_->maps.chosen_processes, &tgid, sizeof(tgid), &chosen,
                           sizeof(chosen), BPF_ANY) != 0) {
    return base::ErrnoError("choosing process " + std::to_string(tgid), errno);
  }
  return {};
}

bool LiveKernelSource::SetUnwanted(uint32_t tgid, const abi_unwanted* unwanted) {
  const int map = bpf_map__fd(skeleton_->maps.unwanted_processes);
  if (unwanted != nullptr) {
    if (bpf_map_update_elem(map, &tgid, unwanted, BPF_ANY) != 0) return false;
    unwanted_.insert(tgid);
  } else {
    // Without an entry there is nothing to remove.
    static_cast<void>(bpf_map_delete_elem(map, &tgid));
    unwanted_.erase(tgid);
  }
  skeleton_->bss->unwanted_count = static_cast<uint32_t>(unwanted_.size());
  return true;
}

void LiveKernelSource::Wait(uint64_t wait_ns_max) {
  epoll_event event;
  const auto wait_ms = static_cast<int>(std::min<uint64_t>(wait_ns_max / 1'000'000, 60'000));
  // A signal ends the wait early, which is what the caller wants of Ctrl-C.
  ::epoll_wait(wake_fd_, &event, 1, wait_ms);
}

// Returns false when the batch is full; the record is in it all the same.
bool LiveKernelSource::CollectRecord(const void* record, size_t size_bytes) {
  std::vector<std::byte>& bytes = collecting_->bytes;
  const size_t offset = bytes.size();
  const auto* from = static_cast<const std::byte*>(record);
  bytes.insert(bytes.end(), from, from + size_bytes);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  record_ranges_.emplace_back(offset, size_bytes);
  return bytes.size() < kBatchBytesMax;
}

void LiveKernelSource::Take(KernelBatch& batch) {
  batch.bytes.clear();
  batch.samples.clear();
  batch.process_events.clear();
  record_ranges_.clear();
  collecting_ = &batch;
  batch.more = ring_buffer__consume(ring_) < 0;
  collecting_ = nullptr;
  // After the samples: then every event that happened before one of them is here too.
  news_->Drain(waiting_events_);
  for (const auto& [offset, size_bytes] : record_ranges_) {
    auto record = ParseSampleRecord(std::span(batch.bytes).subspan(offset, size_bytes));
    if (!record.ok()) {
      ++damaged_records_;
      continue;
    }
    auto [next, is_first] = next_sequence_.try_emplace(record->sample->cpu, 0);
    if (record->sample->cpu_sequence > next->second) {
      sequence_gaps_ += record->sample->cpu_sequence - next->second;
    }
    next->second = record->sample->cpu_sequence + 1;
    batch.samples.push_back(*record);
  }
  std::stable_sort(batch.samples.begin(), batch.samples.end(),
                   [](const SampleRecord& a, const SampleRecord& b) {
                     return a.sample->time_mono_ns < b.sample->time_mono_ns;
                   });
  TakeEvents(batch);
}

// Events later than samples that are still in the ring have to wait for them.
void LiveKernelSource::TakeEvents(KernelBatch& batch) {
  auto end = waiting_events_.end();
  if (batch.more && !batch.samples.empty()) {
    const uint64_t last_mono_ns = batch.samples.back().sample->time_mono_ns;
    end = std::find_if(waiting_events_.begin(), end, [&](const process::ProcessEvent& event) {
      return event.time_mono_ns > last_mono_ns;
    });
  }
  batch.process_events.assign(std::make_move_iterator(waiting_events_.begin()),
                              std::make_move_iterator(end));
  waiting_events_.erase(waiting_events_.begin(), end);
}

std::vector<abi_task_identity> LiveKernelSource::ListTasks() {
  std::vector<abi_task_identity> tasks;
  bpf_link* link = bpf_program__attach_iter(skeleton_->progs.list_tasks, nullptr);
  if (link == nullptr) return tasks;
  const int fd = bpf_iter_create(bpf_link__fd(link));
  if (fd >= 0) {
    abi_task_identity chunk[256];
    size_t carried = 0;
    for (;;) {
      const ssize_t count =
          ::read(fd, reinterpret_cast<char*>(chunk) + carried, sizeof(chunk) - carried);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      const size_t have = carried + static_cast<size_t>(count);
      const size_t whole = have / sizeof(chunk[0]);
      tasks.insert(tasks.end(), chunk, chunk + whole);
      carried = have % sizeof(chunk[0]);
      std::memmove(chunk, reinterpret_cast<char*>(chunk) + whole * sizeof(chunk[0]), carried);
    }
    ::close(fd);
  }
  bpf_link__destroy(link);
  return tasks;
}

KernelBook LiveKernelSource::ReadBook() {
  KernelBook book;
  const int cpus = libbpf_num_possible_cpus();
  std::vector<abi_counter_page> pages(static_cast<size_t>(std::max(cpus, 1)));
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.counters), &zero, pages.data()) == 0) {
    for (abi_counter_page& page : pages) {
      LeaveOutUndecided(page);
      for (int i = 0; i < ABI_COUNTER_COUNT; ++i) book.page.value[i] += page.value[i];
    }
  }
  book.sequence_gaps = sequence_gaps_;
  book.damaged_records = damaged_records_ + news_->damaged_count();
  book.process_events = news_->received_count();
  book.process_events_lost = news_->lost_count();
  return book;
}

}  // namespace

void LeaveOutUndecided(abi_counter_page& page) {
  enum class Kind { RECEIVED, EXCLUDED, KEPT, DROPPED, DETAIL };
  constexpr Kind kKinds[] = {
#define ABI_KIND(name, kind, meaning) Kind::kind,
      ABI_COUNTERS(ABI_KIND)
#undef ABI_KIND
  };
  uint64_t decided = 0;
  for (size_t i = 0; i < ABI_COUNTER_COUNT; ++i) {
    if (kKinds[i] != Kind::RECEIVED && kKinds[i] != Kind::DETAIL) decided += page.value[i];
  }
  auto& received = page.value[ABI_COUNTER_received];
  const uint64_t difference = received > decided ? received - decided : decided - received;
  if (difference <= kTicksUnderWayMax) received = decided;
}

base::Result<SampleRecord> ParseSampleRecord(std::span<const std::byte> record) {
  const base::Error corrupt(base::ErrorCode::kCorrupt, "sample record whose parts do not fit");
  SampleRecord parts;
  if (record.size() < sizeof(abi_sample) ||
      reinterpret_cast<uintptr_t>(record.data()) % alignof(abi_sample) != 0) {
    return corrupt;
  }
  parts.sample = reinterpret_cast<const abi_sample*>(record.data());
  const abi_sample& sample = *parts.sample;
  if (sample.kind != ABI_RECORD_SAMPLE || sample.version != ABI_SAMPLE_VERSION ||
      sample.size_bytes != record.size() || sample.stop_reason >= ABI_STOP_COUNT) {
    return corrupt;
  }
  const size_t user_bytes = sample.user_frame_count * sizeof(abi_frame);
  const size_t kernel_bytes = sample.kernel_frame_count * sizeof(uint64_t);
  const size_t resume_bytes =
      sample.stack_bytes == 0 ? 0 : sizeof(abi_resume) + size_t{sample.stack_bytes};
  if (sizeof(abi_sample) + user_bytes + kernel_bytes + resume_bytes != record.size()) {
    return corrupt;
  }
  const std::byte* at = record.data() + sizeof(abi_sample);
  parts.user = {reinterpret_cast<const abi_frame*>(at), sample.user_frame_count};
  at += user_bytes;
  parts.kernel = {reinterpret_cast<const uint64_t*>(at), sample.kernel_frame_count};
  at += kernel_bytes;
  if (resume_bytes != 0) {
    parts.resume = reinterpret_cast<const abi_resume*>(at);
    parts.stack = {at + sizeof(abi_resume), sample.stack_bytes};
  }
  return parts;
}

base::Result<std::unique_ptr<KernelSource>> KernelSource::Load(const KernelSourceOptions& options) {
  libbpf_set_print(KeepLog);
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  auto source = std::make_unique<LiveKernelSource>(options);
  base::Result<void> loaded;
  if (options.loop == WalkerLoop::kBounded) {
    loaded = source->LoadPrograms(false);
  } else {
    loaded = source->LoadPrograms(true);
    const bool may_lack_it = !loaded.ok() && loaded.error().code() != base::ErrorCode::kPermission;
    if (may_lack_it && options.loop == WalkerLoop::kAuto) loaded = source->LoadPrograms(false);
  }
  RETURN_IF_ERROR(std::move(loaded));
  RETURN_IF_ERROR(source->Prepare());
  return std::unique_ptr<KernelSource>(std::move(source));
}

}  // namespace vesta::agent::source
