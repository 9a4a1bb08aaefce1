// The only door to the kernel: loads the BPF programs, hangs them on every CPU's tick, and hands
// out what they and the side-band send.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/counters.h"
#include "abi/sample.h"
#include "abi/task_identity.h"
#include "src/agent/process/process_event.h"
#include "src/agent/source/perf_event.h"
#include "src/agent/unwind/kernel_tables.h"
#include "src/base/result.h"

namespace vesta::agent::source {

enum class WalkerLoop { kAuto, kBpfLoop, kBounded };

struct KernelSourceOptions {
  TickEvent tick = TickEvent::kCpuClock;
  uint32_t frequency_hz = 99;
  uint32_t ring_bytes = 0;  // a power of two
  uint32_t mappings_max = 0;
  uint32_t table_slots = 0;
  bool chosen_processes_only = false;
  bool follow_children = false;
  WalkerLoop loop = WalkerLoop::kAuto;
};

// One record of the ring, cut into its parts. Spans live until the next poll.
struct SampleRecord {
  const abi_sample* sample = nullptr;
  std::span<const abi_frame> user;     // leaf first
  std::span<const uint64_t> kernel;    // leaf first
  const abi_resume* resume = nullptr;  // null: the kernel's walk stands
  std::span<const std::byte> stack;    // from resume->sp
};

// Cuts a record. Errors: Corrupt when counts and size disagree.
base::Result<SampleRecord> ParseSampleRecord(std::span<const std::byte> record);

// Ticks that were under way when the page of a CPU was read are not received yet, so that the page
// balances at any moment. A larger difference is none of these, and stays.
void LeaveOutUndecided(abi_counter_page& page);

// What one poll brought, in the order of time where it matters: every process event that happened
// before a sample stands before it.
struct KernelBatch {
  std::vector<std::byte> bytes;                       // records back to back
  std::vector<SampleRecord> samples;                  // ordered by time
  std::vector<process::ProcessEvent> process_events;  // ordered by time
  bool more = false;                                  // the batch is full and the ring is not empty
};

// The kernel's page of the book plus what happened between the ring and us.
struct KernelBook {
  abi_counter_page page{};
  uint64_t sequence_gaps = 0;  // losses seen in the numbers of records
  uint64_t damaged_records = 0;
  uint64_t process_events = 0;
  uint64_t process_events_lost = 0;
};

class KernelSource {
 public:
  virtual ~KernelSource() = default;

  // Loads the programs; nothing ticks yet.
  // Errors: Permission and Unsupported with what to do.
  static base::Result<std::unique_ptr<KernelSource>> Load(const KernelSourceOptions& options);

  // Opens the ticks of all online CPUs and starts them.
  virtual base::Result<void> Start() = 0;
  // Stops the ticks; what was sent stays readable.
  virtual void Stop() = 0;
  // Follows CPUs that came or went. Returns the number of CPUs that tick.
  virtual base::Result<size_t> UpdateCpus() = 0;

  // Makes all ticks 2^rate_shift times slower than asked, and every sample weigh as much more.
  // A sample that is taken while this runs (some microseconds) may get the weight of the other
  // rate.
  virtual void SetRateShift(uint32_t rate_shift) = 0;
  // Whether samples may bring copies of their stacks.
  virtual void AllowStackCopies(bool allowed) = 0;
  // Between the two nothing is sampled and no news of processes is collected, so that what lives
  // must be read again afterwards. Errors of Resume: as Start.
  virtual void Pause() = 0;
  virtual base::Result<void> Resume() = 0;

  virtual base::Result<void> ChooseProcess(uint32_t tgid) = 0;

  // Ticks of that incarnation of the process are excluded from now on; null: no longer. False when
  // there is no room.
  virtual bool SetUnwanted(uint32_t tgid, const abi_unwanted* unwanted) = 0;

  // Waits until the ring is half full or the time is over.
  virtual void Wait(uint64_t wait_ns_max) = 0;
  // Takes what waits, up to some MB.
  virtual void Take(KernelBatch& batch) = 0;

  // Exact identity of every process; empty on kernels without task iterators.
  virtual std::vector<abi_task_identity> ListTasks() = 0;

  // What the walker knows of processes and their code.
  virtual unwind::KernelTables& kernel_tables() = 0;

  virtual KernelBook ReadBook() = 0;
};

}  // namespace vesta::agent::source
