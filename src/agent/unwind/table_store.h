// Which images have their unwind table in the kernel: loaded on first need, within a budget of
// bytes, the least recently used leaving first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/agent/unwind/kernel_tables.h"
#include "src/base/result.h"
#include "src/object/unwind_table.h"

namespace vesta::agent::unwind {

struct TableStoreBook {
  uint64_t loaded = 0;
  uint64_t evicted = 0;
  uint64_t refused_too_large = 0;  // larger than the whole budget: stacks end there
  uint64_t failed = 0;             // unreadable or damaged: frame pointers only
  uint64_t deferred = 0;           // evicted too recently to be built again at once
  uint64_t build_time_ns = 0;
  uint64_t eh_frame_bytes = 0;
  // Code whose rules came from itself, or from nowhere since there was too much of it.
  uint64_t scanned_code_bytes = 0;
  uint64_t left_out_code_bytes = 0;
};

// A table's slot is its image's number, so that mappings never change when tables come and go.
// Owner: agent thread.
class TableStore {
 public:
  // Builds the table of an image. Called only from Ensure.
  using Builder = std::function<base::Result<object::UnwindTable>(uint32_t image_id)>;

  TableStore(KernelTables& kernel, uint64_t budget_bytes, Builder builder)
      : kernel_(kernel), budget_bytes_(budget_bytes), builder_(std::move(builder)) {}

  // Loads the image's table unless it is there. An image without usable rules gets an empty table:
  // the walker then tries the frame pointer.
  // Errors: InvalidInput when the image's number is beyond the slots; Unavailable while the table
  // was
  //         evicted too recently: a budget that is too small must cost stacks, not the machine's
  //         time.
  base::Result<void> Ensure(uint32_t image_id);
  bool Has(uint32_t image_id) const {
    return image_id < entries_.size() && entries_[image_id].size_bytes != 0;
  }
  // Notes that a sample used the image's table in this period.
  void Touch(uint32_t image_id) {
    if (image_id < entries_.size()) entries_[image_id].last_used_period = period_;
  }
  // A new period for Touch; now_mono_ns is also the clock of the waits after an eviction.
  void NextPeriod(uint64_t now_mono_ns) {
    ++period_;
    now_mono_ns_ = now_mono_ns;
  }

  // The number will be that of another image.
  void Forget(uint32_t image_id);

  // Lowers or raises the budget; evicts at once.
  void SetBudget(uint64_t budget_bytes);

  uint64_t used_bytes() const { return used_bytes_; }
  const TableStoreBook& book() const { return book_; }

 private:
  struct Entry {
    uint32_t size_bytes = 0;  // 0 = not loaded
    uint32_t last_used_period = 0;
    uint32_t evicted_count = 0;
    uint64_t reload_mono_ns = 0;  // not before
  };

  void EvictUntil(uint64_t bytes_max, uint32_t keep_image_id);

  KernelTables& kernel_;
  uint64_t budget_bytes_;
  Builder builder_;
  std::vector<Entry> entries_;  // by image id
  uint64_t used_bytes_ = 0;
  uint32_t period_ = 1;
  uint64_t now_mono_ns_ = 0;
  TableStoreBook book_;
};

}  // namespace vesta::agent::unwind
