#include "src/store/read_guard.h"

#include <string>

namespace vesta::store {

base::Result<void> ReadGuard::Check() const {
  if (limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed)) {
    return base::Error(base::ErrorCode::kUnavailable, "the request was cancelled");
  }
  if (limits_.deadline != std::chrono::steady_clock::time_point::max() &&
      std::chrono::steady_clock::now() >= limits_.deadline) {
    return base::Error(
        base::ErrorCode::kExhausted,
        "the request took longer than its time limit: ask for a shorter range, fewer "
        "series or coarser groups, or raise the limit");
  }
  return {};
}

base::Result<void> ReadGuard::Take(uint64_t bytes) {
  base::ByteBudget* const memory = limits_.memory;
  const uint64_t left =
      memory != nullptr ? memory->left_bytes() : limits_.memory_bytes_max - used_bytes_;
  if (bytes > left) {
    return base::Error(
        base::ErrorCode::kExhausted,
        "the request needs more memory than its limit of " +
            std::to_string(memory != nullptr ? memory->bytes_max() : limits_.memory_bytes_max) +
            " bytes: ask for a shorter range, fewer series or coarser groups, or "
            "raise the limit");
  }
  if (memory != nullptr && !memory->Take(bytes)) {
    return base::Error(base::ErrorCode::kUnavailable,
                       "too many questions at once need much memory: try again in a second, or ask "
                       "for less");
  }
  used_bytes_ += bytes;
  return {};
}

base::Result<void> ReadGuard::Hold(uint64_t bytes) {
  if (bytes > used_bytes_) return Take(bytes - used_bytes_);
  GiveBack(used_bytes_ - bytes);
  return {};
}

void ReadGuard::GiveBack(uint64_t bytes) {
  const uint64_t given = bytes < used_bytes_ ? bytes : used_bytes_;
  used_bytes_ -= given;
  if (limits_.memory != nullptr) limits_.memory->Give(given);
}

base::Result<void> CheckTimeline(TimeRange range, int64_t step_ms) {
  if (step_ms <= 0) return base::Error(base::ErrorCode::kInvalidInput, "the step is below 1 ms");
  constexpr TimeRange kUnbounded;
  if (range.from_unix_ms == kUnbounded.from_unix_ms || range.to_unix_ms == kUnbounded.to_unix_ms) {
    return base::Error(base::ErrorCode::kInvalidInput,
                       "the range of a timeline must have a beginning and an end");
  }
  return {};
}

}  // namespace vesta::store
