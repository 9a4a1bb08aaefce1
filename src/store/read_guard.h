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
  ~ReadGuard() { GiveBack(used_bytes_); }
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;

  // To be asked when a read begins and then every few thousand rows.
  // Cost: a look at the clock.
  // Errors: Unavailable when cancelled; Exhausted behind the deadline.
  base::Result<void> Check() const;

  // Counts memory before it is taken.
  // Errors: Exhausted beyond the limit; Unavailable when other questions have what is left.
  base::Result<void> Take(uint64_t bytes);
  // Takes what is missing, or gives back what is too much.
  base::Result<void> Hold(uint64_t bytes);
  void GiveBack(uint64_t bytes);
  uint64_t used_bytes() const { return used_bytes_; }

 private:
  const ReadLimits& limits_;
  uint64_t used_bytes_ = 0;
};

// What Timeline can answer. Errors: InvalidInput for a range without ends or a step below 1 ms.
base::Result<void> CheckTimeline(TimeRange range, int64_t step_ms);

}  // namespace vesta::store
