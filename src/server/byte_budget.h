// A number of bytes that all requests share, so that their sum is bounded, not only each.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace vesta::server {

// Threads: any.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  bool Take(uint64_t bytes) {
    uint64_t used = used_.load();
    do {
      if (bytes > bytes_max_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  void Give(uint64_t bytes) { used_ -= bytes; }
  uint64_t used_bytes() const { return used_; }
  uint64_t bytes_max() const { return bytes_max_; }

 private:
  const uint64_t bytes_max_;
  std::atomic<uint64_t> used_ = 0;
};

// What one request has of it, given back at its end.
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
  void Release() { budget_.Give(std::exchange(bytes_, 0)); }
  uint64_t bytes() const { return bytes_; }

 private:
  ByteBudget& budget_;
  uint64_t bytes_ = 0;
};

}  // namespace vesta::server
