// The agent on one machine: kernel samples in, distinct stacks with their threads out. Builds the
// stages of a sample's journey and carries samples from one to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "src/agent/aggregate/aggregator.h"
#include "src/agent/limits/cpu_governor.h"
#include "src/agent/naming/namer.h"
#include "src/agent/process/image_store.h"
#include "src/agent/process/linux_proc.h"
#include "src/agent/process/process_table.h"
#include "src/agent/runtime/generated_code_runtime.h"
#include "src/agent/source/kernel_source.h"
#include "src/agent/unwanted_processes.h"
#include "src/agent/unwind/frame_finder_cache.h"
#include "src/agent/unwind/process_publisher.h"
#include "src/agent/unwind/rule_copy_limit.h"
#include "src/agent/unwind/table_store.h"
#include "src/agent/unwind/walk_finisher.h"
#include "src/base/result.h"

namespace vesta::agent {

struct AgentOptions {
  source::TickEvent tick = source::TickEvent::kCpuClock;
  uint32_t frequency_hz = 99;
  uint64_t ring_bytes = 0;  // 0 = by the number of CPUs and the frequency
  uint64_t memory_limit_bytes = 100u << 20;
  // There is more in this process than the agent: the limit is of what the agent's parts count,
  // else of all that is resident.
  bool shares_process = false;
  uint64_t table_budget_bytes = 0;             // 0 = a share of the memory limit
  uint32_t cpu_limit_milli_percent = 100'000;  // of all CPUs together
  std::vector<uint32_t> pids;                  // with chosen_processes_only
  bool chosen_processes_only = false;
  bool follow_children = false;  // children of chosen processes are chosen too
  // Every sample keeps its own time, for rows of a batch; else only those of code that moves do.
  bool keep_times = false;
  source::WalkerLoop loop = source::WalkerLoop::kAuto;
  naming::Namer::Options naming;
  process::ExclusionRule exclusion_rule = nullptr;  // besides those that have opted out
  // CPU time of what counts against the limit, besides the kernel programs and the processes that
  // build indexes; nothing = that of this whole process.
  std::function<uint64_t()> own_cpu_ns = {};
};

// What the agent did to finish the kernel's walks.
struct FinishBook {
  uint64_t asked = 0;               // samples that came with a copy of their stack
  uint64_t completed = 0;           // reached a root that way
  uint64_t with_all_registers = 0;  // the tables did not do; of these
  uint64_t with_all_registers_completed = 0;
  uint64_t tables_not_published = 0;  // times that the kernel refused new tables
};

// Owner: one thread calls everything.
class Agent {
 public:
  // Loads the kernel programs; nothing is sampled yet.
  // Errors: as KernelSource::Load.
  static base::Result<std::unique_ptr<Agent>> Create(const AgentOptions& options);

  base::Result<void> Start();
  // Waits for samples, at most wait_ns_max, and takes in what came.
  void Poll(uint64_t wait_ns_max);
  // Stops sampling and takes in what is still on its way.
  void Stop();

  // While it is paused nothing is sampled and no news of processes is collected.
  void SetPaused(bool is_paused);
  // Marks, by id, images that somebody outside remembers; asked before numbers are used again.
  void SetImageHolder(std::function<void(std::vector<bool>& needed)> mark_images) {
    mark_held_images_ = std::move(mark_images);
  }
  base::Result<void> ChooseProcess(uint32_t pid) { return source_->ChooseProcess(pid); }

  aggregate::Aggregator& aggregator() { return aggregator_; }
  process::ProcessTable& processes() { return processes_; }
  process::ImageStore& images() { return images_; }
  // Names binaries; has their indexes built while samples are taken, as the CPU limit allows.
  naming::Namer& namer() { return namer_; }
  // Names generated code.
  runtime::GeneratedCodeRuntime& generated_code_runtime() { return generated_names_; }
  source::KernelSource& source() { return *source_; }
  const unwind::TableStore& tables() const { return tables_; }
  const unwind::PublisherBook& publisher_book() const { return publisher_.book(); }
  const unwind::RuleCopyLimit& rule_copy_limit() const { return rule_copy_limit_; }
  // Samples of processes that are not to be sampled, from before the kernel knew.
  const UnwantedProcesses::Counts& excluded() const { return unwanted_.counts(); }
  const FinishBook& finish_book() const { return finish_book_; }
  // Says what was given up, or done again, to stay within the CPU limit.
  limits::CpuGovernor& governor() { return governor_; }
  uint64_t memory_bytes() const;
  // Samples up to this moment have been taken in, and none of a later one; before the first Poll,
  // when sampling began.
  uint64_t taken_until_mono_ns() const { return taken_until_mono_ns_; }
  // CPUs that tick, or did before sampling was stopped.
  uint32_t cpu_count() const { return cpus_; }

 private:
  struct Budget {
    uint64_t table_bytes = 0;
    uint64_t aggregate_bytes = 0;
    uint64_t generated_names_bytes = 0;
  };

  Agent(const AgentOptions& options, const Budget& budget,
        std::unique_ptr<source::KernelSource> source);
  static Budget Divide(const AgentOptions& options);

  // What lives now; news of processes is collected already, so that nothing falls between.
  void LearnProcesses();
  void ObeyCpuLimit(uint64_t now_mono_ns);
  void SetLevel(const limits::Level& level);
  void ResumeSource();
  void TakeBatch();
  void TakeSample(const source::SampleRecord& record);
  unwind::FinishedWalk FinishWalk(const source::SampleRecord& record);
  void PublishChanged();
  void Publish(uint32_t pid);
  std::span<const abi_mapping> MappingsOf(uint32_t pid,
                                          const unwind::ProcessPublisher::Identity& identity);
  // Fills mappings_.
  void Describe(const process::Process& process);
  base::Result<object::UnwindTable> BuildTable(uint32_t image_id);
  base::Result<std::unique_ptr<object::FrameFinder>> OpenFrameFinder(uint32_t image_id);
  void Housekeep(uint64_t now_mono_ns);
  void RecycleImages();
  // A frame in memory without a file; a name for it will be looked for.
  void NoteGeneratedCode(uint32_t pid, profile::Frame& frame);
  void ReadGeneratedNames();

  AgentOptions options_;
  std::function<void(std::vector<bool>&)> mark_held_images_;
  Budget budget_;
  uint64_t ring_bytes_;
  std::unique_ptr<source::KernelSource> source_;
  process::LinuxProc proc_;
  process::ImageStore images_;
  process::ProcessTable processes_;
  naming::Namer namer_;
  unwind::ProcessPublisher publisher_;
  unwind::TableStore tables_;
  unwind::FrameFinderCache finders_;
  unwind::WalkFinisher finisher_;
  unwind::RuleCopyLimit rule_copy_limit_;
  runtime::GeneratedCodeRuntime generated_names_;
  UnwantedProcesses unwanted_;
  aggregate::Aggregator aggregator_;
  limits::CpuGovernor governor_;
  limits::Level level_;  // that we are at
  bool is_paused_ = false;
  uint32_t cpus_ = 1;
  uint64_t taken_until_mono_ns_ = 0;

  source::KernelBatch batch_;
  std::vector<profile::Frame> frames_;
  std::vector<abi_mapping> mappings_;  // of described_pid_
  uint32_t described_pid_ = 0;         // 0 = none
  std::set<uint32_t> refused_pids_;    // the kernel had no room for them since the last Housekeep
  FinishBook finish_book_;
  bool busy_ = true;  // processes come and go, or are new to us: poll sooner
  uint64_t housekeeping_next_mono_ns_ = 0;
  uint64_t grace_started_mono_ns_ = 0;
  uint64_t recycling_next_mono_ns_ = 0;
  // Addresses that were sampled since their names were read.
  std::map<profile::ImageId, std::vector<uint64_t>> generated_code_;
  std::set<uint32_t> no_copy_pids_;  // stack copies did not help since the last Housekeep
  uint64_t generated_names_next_mono_ns_ = 0;
};

}  // namespace vesta::agent
