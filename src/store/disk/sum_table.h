// Sums by a number and a group, added up from many places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/store/read_guard.h"

namespace vesta::store {

// Shape: open addressing over the index of a dense list of sums. As long as keys come in order, as
//        those of one list do, there is no index.
// Owner: one read.
// Cost:  about 10 ns an Add that finds its sum in the cache; sizeof(Sum) + 6 to 11 bytes a sum.
// Errors: Exhausted, as the guard says.
template <typename Sum>
class SumTable {
 public:
  explicit SumTable(ReadGuard* guard) : guard_(guard) {}
  ~SumTable() { guard_->GiveBack(taken_bytes_); }
  SumTable(const SumTable&) = delete;
  SumTable& operator=(const SumTable&) = delete;

  // Shape: Sum has `key`, which is 64 bits, and all else 0 when it is new.
  base::Result<Sum*> At(uint64_t key) {
    if (sums_.size() == sums_max_) RETURN_IF_ERROR(Grow());
    if (!is_indexed_) {
      if (sums_.empty() || sums_.back().key < key) return Append(key);
      if (sums_.back().key == key) return &sums_.back();
      Index();
    }
    size_t at = Hash(key) & mask_;
    while (slots_[at] != kFree) {
      if (sums_[slots_[at]].key == key) return &sums_[slots_[at]];
      at = (at + 1) & mask_;
    }
    slots_[at] = static_cast<uint32_t>(sums_.size());
    return Append(key);
  }
  const std::vector<Sum>& sums() const { return sums_; }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static size_t Hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(key ^ (key >> 29));
  }
  Sum* Append(uint64_t key) {
    sums_.emplace_back().key = key;
    return &sums_.back();
  }
  base::Result<void> Grow() {
    const size_t slots = slot_count_ == 0 ? 64 : slot_count_ * 2;
    const uint64_t bytes = (slots - slot_count_) * (sizeof(uint32_t) + sizeof(Sum) * 2 / 3);
    RETURN_IF_ERROR(guard_->Take(bytes));
    taken_bytes_ += bytes;
    slot_count_ = slots;
    sums_max_ = slots * 2 / 3;
    sums_.reserve(sums_max_);
    if (is_indexed_) Index();
    return {};
  }
  void Index() {
    is_indexed_ = true;
    slots_.assign(slot_count_, kFree);
    mask_ = slot_count_ - 1;
    for (size_t i = 0; i < sums_.size(); ++i) {
      size_t at = Hash(sums_[i].key) & mask_;
      while (slots_[at] != kFree) at = (at + 1) & mask_;
      slots_[at] = static_cast<uint32_t>(i);
    }
  }

  ReadGuard* guard_;
  uint64_t taken_bytes_ = 0;
  std::vector<Sum> sums_;
  size_t sums_max_ = 0;    // as many have been taken from the guard
  size_t slot_count_ = 0;  // so many slots will do for them
  bool is_indexed_ = false;
  std::vector<uint32_t> slots_;
  size_t mask_ = 0;
};

// Key: group << 32 | number.
struct ValueSum {
  uint64_t key = 0;
  int64_t value = 0;
  int64_t count = 0;
  void Add(int64_t more_value, int64_t more_count) {
    value = profile::AddSaturating(value, more_value);
    count = profile::AddSaturating(count, more_count);
  }
};
using ValueTable = SumTable<ValueSum>;

constexpr uint64_t GroupKey(uint32_t group, uint32_t number) {
  return uint64_t{group} << 32 | number;
}
constexpr uint32_t GroupOfKey(uint64_t key) { return static_cast<uint32_t>(key >> 32); }
constexpr uint32_t NumberOfKey(uint64_t key) { return static_cast<uint32_t>(key); }

}  // namespace vesta::store
