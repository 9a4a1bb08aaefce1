// A number of bytes that several users share, so that their sum is bounded, not only each.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace vesta::base {

// Threads: any.
class ByteBudget {
 public:
  // What is taken is taken of `whole`, too, which must outlive this.
  explicit ByteBudget(uint64_t bytes_max, ByteBudget* whole = nullptr)
      : bytes_max_(bytes_max), whole_(whole) {}

  bool Take(uint64_t bytes) { return Take(bytes, 0, false); }
  // As Take; who has all that is used is not held back.
  bool TakeUnlessShared(uint64_t bytes, uint64_t own_bytes) { return Take(bytes, own_bytes, true); }
  void Give(uint64_t bytes) {
    used_ -= bytes;
    if (whole_ != nullptr) whole_->Give(bytes);
  }
  uint64_t used_bytes() const { return used_; }
  uint64_t peak_bytes() const { return peak_; }  // most that was ever used
  uint64_t bytes_max() const { return bytes_max_; }
  uint64_t left_bytes() const {
    const uint64_t used = used_;
    return used < bytes_max_ ? bytes_max_ - used : 0;
  }

 private:
  bool Take(uint64_t bytes, uint64_t own_bytes, bool unless_shared) {
    uint64_t used = used_.load();
    do {
      const bool has_room = used <= bytes_max_ && bytes <= bytes_max_ - used;
      if (!has_room && !(unless_shared && used == own_bytes)) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    if (whole_ != nullptr && !whole_->Take(bytes)) {
      used_ -= bytes;
      return false;
    }
    uint64_t peak = peak_.load();
    while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes)) {
    }
    return true;
  }

  const uint64_t bytes_max_;
  ByteBudget* const whole_;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> peak_ = 0;
};

// What one user has of it, given back at its end.
// Owner: one thread at a time.
class BudgetShare {
 public:
  explicit BudgetShare(ByteBudget& budget) : budget_(budget) {}
  ~BudgetShare() { budget_.Give(bytes_); }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

  // False when there is no room: nothing was taken.
  bool Grow(uint64_t bytes) {
    if (!budget_.Take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  bool GrowUnlessShared(uint64_t bytes) {
    if (!budget_.TakeUnlessShared(bytes, bytes_)) return false;
    bytes_ += bytes;
    return true;
  }
  void Release() { budget_.Give(std::exchange(bytes_, 0)); }
  uint64_t bytes() const { return bytes_; }

 private:
  ByteBudget& budget_;
  uint64_t bytes_ = 0;
};

}  // namespace vesta::base
