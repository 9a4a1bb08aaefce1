// Reads recordings of perf record: samples with their call chains, user registers and copies of the
// user stack, and the events that tell what a process had mapped at that time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"

namespace vesta::wire {

struct PerfMapping {
  uint32_t pid = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;
  bool executable = false;
  std::string path;
  std::string build_id;  // hex; only where perf recorded it with the mapping
};

struct PerfComm {
  uint32_t pid = 0;
  uint32_t tid = 0;
  bool is_exec = false;
  std::string comm;
};

struct PerfFork {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t tid = 0;
  uint32_t parent_tid = 0;
};

struct PerfLost {
  uint64_t count = 0;
};

// perf copies the stack from its pointer upwards. Rules of an epilogue read what was popped below
// it; for the frame pointer, the only register that walks need from there, that is what the
// register holds. Both walkers are given that value for the whole red zone.
constexpr uint64_t kRedZoneBytes = 128;

struct PerfSample {
  // In DWARF order; [16] = instruction pointer.
  std::array<uint64_t, 17> registers{};
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::vector<std::byte> stack;  // from the stack pointer upwards
  bool has_user_stack = false;   // false: a kernel thread, or a 32-bit program
  size_t event = 0;              // index into events()
  uint64_t time_ns = 0;
  uint64_t address = 0;             // where it interrupted
  bool in_kernel = false;           // that place
  std::optional<uint64_t> period;   // absent: one per sample
  std::vector<uint64_t> callchain;  // leaf first, with perf's context marks in it
};

// One event as it was asked for.
struct PerfEvent {
  std::string name;  // "" when the file does not tell and no general name is known
  uint64_t sample_type = 0;
  uint64_t registers_mask = 0;
  bool has_times = false;  // all of its records carry a time
  uint64_t period = 0;     // between two samples; 0 = perf chose it by a frequency
};

// A binary that perf found samples in.
struct PerfBuildId {
  std::string path;
  std::string build_id;  // hex
};

// Without a value: a record that says nothing about user stacks.
using PerfRecord =
    std::variant<std::monostate, PerfMapping, PerfComm, PerfFork, PerfLost, PerfSample>;

// Shape:  records in the order of their time.
// Units:  as perf: the clock of the recording, nanoseconds.
// Owner:  the source outlives it.
// Cost:   24 bytes per record; Read() reads one.
// Errors: Corrupt for what does not follow the format, with the place in the file; Unsupported for
//         recordings that are compressed, written to a pipe or to a folder, or of another machine;
//         InvalidInput for other files. A damaged list of names or build ids is as none.
// Source: tools/perf/Documentation/perf.data-file-format.txt and linux/perf_event.h.
class PerfData {
 public:
  static base::Result<PerfData> Open(const base::ByteSource& source);

  std::span<const PerfEvent> events() const { return events_; }
  // Of the whole recording; empty when it has no such list.
  std::span<const PerfBuildId> build_ids() const { return build_ids_; }
  size_t record_count() const { return records_.size(); }
  base::Result<PerfRecord> Read(size_t index) const;

 private:
  struct Place {
    uint64_t time_ns = 0;
    uint64_t offset = 0;
    uint32_t size_bytes = 0;
  };

  explicit PerfData(const base::ByteSource& source) : source_(&source) {}
  base::Result<void> ReadEvents(uint64_t offset, uint64_t size_bytes, uint64_t entry_bytes);
  base::Result<void> ReadEvent(std::span<const std::byte> entry);
  base::Result<void> ReadFeatures(uint64_t offset, std::span<const uint64_t> flags);
  void ReadBuildIds(std::span<const std::byte> section);
  void ReadEventNames(std::span<const std::byte> section);
  base::Result<void> IndexRecords(uint64_t offset, uint64_t size_bytes);
  base::Result<uint64_t> TimeOf(std::span<const std::byte> record) const;
  base::Result<size_t> EventOf(std::span<const std::byte> record) const;
  base::Result<PerfSample> ReadSample(std::span<const std::byte> record) const;

  const base::ByteSource* source_;
  std::vector<PerfEvent> events_;
  std::vector<PerfBuildId> build_ids_;
  std::map<uint64_t, size_t> event_of_id_;
  bool events_differ_ = false;
  std::vector<Place> records_;
};

}  // namespace vesta::wire
