// Finds dense 32-bit ids by content without storing the content twice: the rows stay where they
// are, the index holds a hash tag and an id per slot.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "src/base/check.h"

namespace vesta::profile {

// Folds one word into a running hash. Seed and word meet only as factors: were they combined first,
// equal ones, such as the ids of a name that is its own system name, would all hash alike.
inline uint64_t HashWord(uint64_t seed, uint64_t word) {
  const auto product = static_cast<unsigned __int128>(seed ^ 0x9e3779b97f4a7c15u) *
                       static_cast<unsigned __int128>(word ^ 0xd6e8feb86659fd93u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Open addressing, linear probing, at most 3/4 full.
// Cost: 8 bytes per slot; growing reads only the slots, never the rows.
class IdIndex {
 public:
  // Returns the id whose row equals (equal(id) says so), else takes `fresh` in and returns it.
  template <typename Equal>
  uint32_t FindOrInsert(uint64_t hash, uint32_t fresh, const Equal& equal) {
    if ((count_ + 1) * 4 > slots_.size() * 3) Grow();
    const auto tag = static_cast<uint32_t>(hash ^ (hash >> 32));
    size_t position = tag & mask_;
    while (slots_[position].id != kEmpty) {
      if (slots_[position].tag == tag && equal(slots_[position].id)) return slots_[position].id;
      position = (position + 1) & mask_;
    }
    CHECK(fresh != kEmpty);
    slots_[position] = {tag, fresh};
    ++count_;
    return fresh;
  }

  // So many ids come in without growing.
  void Reserve(size_t count) {
    if (count * 4 > slots_.size() * 3) Resize(std::bit_ceil(count * 4 / 3 + 1));
  }

  size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  static constexpr uint32_t kEmpty = std::numeric_limits<uint32_t>::max();
  struct Slot {
    uint32_t tag = 0;
    uint32_t id = kEmpty;
  };

  void Grow() { Resize(slots_.empty() ? 64 : slots_.size() * 2); }

  void Resize(size_t slot_count) {
    std::vector<Slot> bigger(slot_count);
    mask_ = bigger.size() - 1;
    for (const Slot& slot : slots_) {
      if (slot.id == kEmpty) continue;
      size_t position = slot.tag & mask_;
      while (bigger[position].id != kEmpty) position = (position + 1) & mask_;
      bigger[position] = slot;
    }
    slots_ = std::move(bigger);
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t count_ = 0;
};

// Lists of T, one after the other in a single pool: list i is [offsets[i], offsets[i + 1]).
template <typename T>
class FlatLists {
 public:
  size_t size() const { return offsets_.size() - 1; }
  std::span<const T> operator[](size_t index) const {
    return {pool_.data() + offsets_[index], pool_.data() + offsets_[index + 1]};
  }
  // `list` may be a part of this pool.
  void Append(std::span<const T> list) {
    const std::less<const T*> before;
    const bool inside =
        !before(list.data(), pool_.data()) && before(list.data(), pool_.data() + pool_.size());
    if (inside) {
      const auto begin = list.data() - pool_.data();
      pool_.resize(pool_.size() + list.size());
      std::copy_n(pool_.begin() + begin, list.size(),
                  pool_.end() - static_cast<std::ptrdiff_t>(list.size()));
    } else {
      pool_.insert(pool_.end(), list.begin(), list.end());
    }
    offsets_.push_back(pool_.size());
  }
  void Reserve(size_t lists, size_t items) {
    offsets_.reserve(lists + 1);
    pool_.reserve(items);
  }
  size_t item_count() const { return pool_.size(); }
  size_t memory_bytes() const {
    return offsets_.capacity() * sizeof(uint64_t) + pool_.capacity() * sizeof(T);
  }

 private:
  std::vector<uint64_t> offsets_ = {0};
  std::vector<T> pool_;
};

}  // namespace vesta::profile
