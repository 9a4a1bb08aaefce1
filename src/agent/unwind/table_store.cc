#include "src/agent/unwind/table_store.h"

#include <algorithm>
#include <ctime>

#include "abi/unwind.h"

namespace vesta::agent::unwind {
namespace {

constexpr uint32_t kNoImage = ~uint32_t{0};
// Wait before an evicted table is built again: doubled with each eviction.
constexpr uint64_t kReloadWaitNs = 1'000'000'000;
constexpr uint32_t kReloadDoublingsMax = 6;
constexpr uint64_t kNever = ~uint64_t{0};

std::vector<uint32_t> EmptyTable() {
  std::vector<uint32_t> words(ABI_TABLE_BLOCK_WORDS, 0);
  words[0] = ABI_TABLE_MAGIC;
  return words;
}

uint64_t ThreadCpuNs() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

base::Result<void> TableStore::Ensure(uint32_t image_id) {
  if (image_id >= kernel_.table_slots()) {
    return base::Error(base::ErrorCode::kInvalidInput,
                       "image " + std::to_string(image_id) + " has no slot for a table");
  }
  if (Has(image_id)) return {};
  if (image_id >= entries_.size()) entries_.resize(image_id + 1);
  if (now_mono_ns_ < entries_[image_id].reload_mono_ns) {
    ++book_.deferred;
    return base::Error(base::ErrorCode::kUnavailable,
                       "the table of image " + std::to_string(image_id) + " was just evicted");
  }

  const uint64_t started_ns = ThreadCpuNs();
  auto built = builder_(image_id);
  book_.build_time_ns += ThreadCpuNs() - started_ns;
  std::vector<uint32_t> words;
  if (!built.ok()) {
    ++book_.failed;
  } else {
    book_.eh_frame_bytes += built->stats.eh_frame_bytes;
    book_.scanned_code_bytes += built->stats.scanned_code_bytes;
    book_.left_out_code_bytes += built->stats.left_out_code_bytes;
    words = std::move(built->words);
    if (words.size() * sizeof(uint32_t) > budget_bytes_) {
      ++book_.refused_too_large;
      entries_[image_id].reload_mono_ns = kNever;
      return base::Error(base::ErrorCode::kExhausted,
                         "the table of image " + std::to_string(image_id) + " has " +
                             std::to_string(words.size() * sizeof(uint32_t)) +
                             " bytes, more than the whole budget");
    }
  }
  if (words.empty()) words = EmptyTable();

  const auto size_bytes = static_cast<uint32_t>(words.size() * sizeof(uint32_t));
  if (size_bytes <= budget_bytes_) EvictUntil(budget_bytes_ - size_bytes, image_id);
  RETURN_IF_ERROR(kernel_.StoreTable(image_id, words));
  entries_[image_id].size_bytes = size_bytes;
  entries_[image_id].last_used_period = period_;
  used_bytes_ += size_bytes;
  ++book_.loaded;
  return {};
}

void TableStore::Forget(uint32_t image_id) {
  if (image_id >= entries_.size()) return;
  if (Has(image_id)) kernel_.RemoveTable(image_id);
  used_bytes_ -= entries_[image_id].size_bytes;
  entries_[image_id] = {};
}

void TableStore::SetBudget(uint64_t budget_bytes) {
  if (budget_bytes > budget_bytes_) {
    // What was too large may fit now.
    for (Entry& entry : entries_) {
      if (entry.reload_mono_ns == kNever) entry.reload_mono_ns = 0;
    }
  }
  budget_bytes_ = budget_bytes;
  EvictUntil(budget_bytes, kNoImage);
}

void TableStore::EvictUntil(uint64_t bytes_max, uint32_t keep_image_id) {
  while (used_bytes_ > bytes_max) {
    uint32_t oldest = kNoImage;
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].size_bytes == 0 || i == keep_image_id) continue;
      if (oldest == kNoImage || entries_[i].last_used_period < entries_[oldest].last_used_period) {
        oldest = i;
      }
    }
    if (oldest == kNoImage) return;
    kernel_.RemoveTable(oldest);
    used_bytes_ -= entries_[oldest].size_bytes;
    Entry& entry = entries_[oldest];
    entry.size_bytes = 0;
    entry.reload_mono_ns =
        now_mono_ns_ + (kReloadWaitNs << std::min(entry.evicted_count, kReloadDoublingsMax));
    ++entry.evicted_count;
    ++book_.evicted;
  }
}

}  // namespace vesta::agent::unwind
