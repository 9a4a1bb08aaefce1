// Holds a read to its limits, with the same words in every backend.
#pragma once

#include <cstdint>

#include "src/base/result.h"
#include "src/store/store.h"

namespace vesta::store {

// Owner: one read, one thread; the limits must outlive it.
class ReadGuard {
 public:
  explicit ReadGuard(const ReadLimits& limits) : limits_(limits) {}

  // To be asked when a read begins and then every few thousand rows.
  // Cost: a look at the clock.
  // Errors: Unavailable when cancelled; Exhausted behind the deadline.
  base::Result<void> Check() const;

  // Counts memory before it is taken. Errors: Exhausted beyond the limit.
  base::Result<void> Take(uint64_t bytes);
  void GiveBack(uint64_t bytes) { used_bytes_ -= bytes < used_bytes_ ? bytes : used_bytes_; }
  uint64_t used_bytes() const { return used_bytes_; }

 private:
  const ReadLimits& limits_;
  uint64_t used_bytes_ = 0;
};

// What Timeline can answer. Errors: InvalidInput for a range without ends or a step below 1 ms.
base::Result<void> CheckTimeline(TimeRange range, int64_t step_ms);

}  // namespace vesta::store
