// Samples in, a batch of distinct stacks with their counts out.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "abi/sample.h"
#include "src/agent/aggregate/stack_trie.h"
#include "src/base/strong_id.h"

namespace vesta::agent::aggregate {

using ThreadId = base::StrongId<struct ThreadIdTag>;

// Stands for a thread that there was no room for; its samples are dropped.
constexpr ThreadId kNoRoomForThread{~uint32_t{0}};

// A thread as samples name it. `process` is whatever number the owner of processes gave to this
// incarnation; it tells two processes with the same pid apart.
struct Thread {
  uint32_t process = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string name;
  friend bool operator==(const Thread&, const Thread&) = default;
};

struct Row {
  ThreadId thread;
  NodeId stack;
  abi_stop_reason stop_reason = ABI_STOP_ROOT;
  uint64_t value = 0;  // sum of value * weight, in the source's unit
  uint64_t count = 0;  // samples
};

// When a part of a row's value was sampled.
struct TimedValue {
  uint32_t row = 0;  // index of the row
  uint32_t value = 0;
  uint64_t time_mono_ns = 0;
};

struct AggregatorBook {
  uint64_t received = 0;
  uint64_t kept = 0;
  uint64_t dropped_memory = 0;
  uint64_t times_dropped = 0;  // samples kept without their time: no room, or too large a value
  std::array<uint64_t, ABI_STOP_COUNT> kept_by_stop_reason{};
};

// Shape:  a sample is (thread, stack leaf first, why its walk ended, value).
// Owner:  agent thread.
// Cost:   per sample one look-up per frame and one for the row; no allocation for a known row.
// Errors: a sample that needs more than memory_bytes_max is dropped and counted.
class Aggregator {
 public:
  explicit Aggregator(size_t memory_bytes_max) : memory_bytes_max_(memory_bytes_max) {}

  // Returns kNoRoomForThread for a new thread beyond memory_bytes_max.
  ThreadId InternThread(uint32_t process, uint32_t pid, uint32_t tid, std::string_view name);
  // kept_time_mono_ns: when it was sampled, for a stack whose frames are another function's at
  // another time; 0 = that does not matter. Times take at most a quarter of the memory.
  void Add(ThreadId thread, std::span<const profile::Frame> leaf_first, abi_stop_reason stop_reason,
           uint64_t value, uint64_t kept_time_mono_ns = 0);

  const std::vector<Row>& rows() const { return rows_; }
  // In the order of Add; the values of one row may be less than the row's.
  const std::vector<TimedValue>& times() const { return times_; }
  const StackTrie& stacks() const { return stacks_; }
  const Thread& thread(ThreadId id) const { return threads_[id.value()]; }
  const AggregatorBook& book() const { return book_; }
  void SetMemoryLimit(size_t memory_bytes_max) { memory_bytes_max_ = memory_bytes_max; }
  size_t memory_bytes() const;
  // Whether rows should be taken away and cleared before memory, or that for times, is short.
  bool IsCrowded() const {
    return memory_bytes() >= memory_bytes_max_ / 2 ||
           times_.size() * sizeof(TimedValue) >= memory_bytes_max_ / 32;
  }

  // Marks, by id, each image that a stack names.
  void MarkImages(std::vector<bool>& needed) const;
  // Forgets stacks, threads and rows; the book goes on.
  void Clear();

 private:
  struct RowKey {
    uint64_t thread_and_stack;
    uint32_t stop_reason;
    friend bool operator==(const RowKey&, const RowKey&) = default;
  };
  struct RowKeyHash {
    size_t operator()(const RowKey& key) const {
      return static_cast<size_t>((key.thread_and_stack ^ key.stop_reason) * 0x9e3779b97f4a7c15u);
    }
  };
  struct ThreadKey {
    uint32_t process;
    uint32_t tid;
    std::string name;
    friend bool operator==(const ThreadKey&, const ThreadKey&) = default;
  };
  struct ThreadKeyHash {
    size_t operator()(const ThreadKey& key) const {
      return std::hash<std::string>{}(key.name) ^
             ((uint64_t{key.process} << 32 | key.tid) * 0x9e3779b97f4a7c15u);
    }
  };

  void KeepTime(uint32_t row, uint64_t value, uint64_t time_mono_ns);

  size_t memory_bytes_max_;
  StackTrie stacks_;
  std::vector<Thread> threads_;
  std::unordered_map<ThreadKey, ThreadId, ThreadKeyHash> thread_index_;
  std::vector<Row> rows_;
  std::vector<TimedValue> times_;
  std::unordered_map<RowKey, uint32_t, RowKeyHash> row_index_;
  AggregatorBook book_;
};

}  // namespace vesta::agent::aggregate
