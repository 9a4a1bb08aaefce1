#include "src/agent/aggregate/aggregator.h"

#include <utility>

namespace vesta::agent::aggregate {
namespace {

// What one entry of libstdc++'s node-based maps costs beside its key and value.
constexpr size_t kMapNodeBytes = 32;

}  // namespace

ThreadId Aggregator::InternThread(uint32_t process, uint32_t pid, uint32_t tid,
                                  std::string_view name) {
  ThreadKey key{process, tid, std::string(name)};
  const auto known = thread_index_.find(key);
  if (known != thread_index_.end()) return known->second;
  if (memory_bytes() >= memory_bytes_max_) return kNoRoomForThread;
  const auto next = ThreadId(static_cast<uint32_t>(threads_.size()));
  threads_.push_back({process, pid, tid, key.name});
  thread_index_.emplace(std::move(key), next);
  return next;
}

void Aggregator::Add(ThreadId thread, std::span<const profile::Frame> leaf_first,
                     abi_stop_reason stop_reason, uint64_t value, uint64_t kept_time_mono_ns) {
  ++book_.received;
  if (thread == kNoRoomForThread) {
    ++book_.dropped_memory;
    return;
  }
  const size_t others_bytes = memory_bytes() - stacks_.memory_bytes();
  const size_t room = memory_bytes_max_ > others_bytes ? memory_bytes_max_ - others_bytes : 0;
  const NodeId stack = stacks_.Intern(leaf_first, room);
  if (stack == StackTrie::kRoot && !leaf_first.empty()) {
    ++book_.dropped_memory;
    return;
  }
  const RowKey key{uint64_t{thread.value()} << 32 | stack.value(), stop_reason};
  const auto known = row_index_.find(key);
  auto row = static_cast<uint32_t>(rows_.size());
  if (known != row_index_.end()) {
    row = known->second;
    rows_[row].value += value;
  } else {
    if (memory_bytes() >= memory_bytes_max_) {
      ++book_.dropped_memory;
      return;
    }
    row_index_.emplace(key, row);
    rows_.push_back({thread, stack, stop_reason, value});
  }
  ++rows_[row].count;
  if (kept_time_mono_ns != 0) KeepTime(row, value, kept_time_mono_ns);
  ++book_.kept;
  ++book_.kept_by_stop_reason[stop_reason];
}

void Aggregator::KeepTime(uint32_t row, uint64_t value, uint64_t time_mono_ns) {
  // A vector that grows takes three times its size for a moment.
  const size_t bytes_max = memory_bytes_max_ / 4;
  const bool is_full = times_.size() == times_.capacity();
  if (value > UINT32_MAX || (is_full && times_.capacity() * sizeof(TimedValue) > bytes_max / 3) ||
      (is_full && memory_bytes() >= memory_bytes_max_)) {
    ++book_.times_dropped;
    return;
  }
  times_.push_back({row, static_cast<uint32_t>(value), time_mono_ns});
}

size_t Aggregator::memory_bytes() const {
  return times_.capacity() * sizeof(TimedValue) + stacks_.memory_bytes() +
         rows_.capacity() * sizeof(Row) + row_index_.size() * (sizeof(RowKey) + kMapNodeBytes) +
         row_index_.bucket_count() * sizeof(void*) + threads_.capacity() * sizeof(Thread) +
         thread_index_.size() * (sizeof(ThreadKey) + kMapNodeBytes) +
         thread_index_.bucket_count() * sizeof(void*);
}

void Aggregator::MarkImages(std::vector<bool>& needed) const {
  for (uint32_t node = 1; node < stacks_.node_count(); ++node) {
    needed[stacks_.frame(NodeId(node)).image.value()] = true;
  }
}

void Aggregator::Clear() {
  stacks_.Clear();
  threads_.clear();
  thread_index_.clear();
  rows_.clear();
  times_.clear();
  row_index_.clear();
  // What is kept for the next samples must leave room for them.
  if (memory_bytes() <= memory_bytes_max_ / 4) return;
  stacks_ = StackTrie();
  threads_.shrink_to_fit();
  rows_.shrink_to_fit();
  times_.shrink_to_fit();
  decltype(thread_index_)().swap(thread_index_);
  decltype(row_index_)().swap(row_index_);
}

}  // namespace vesta::agent::aggregate
