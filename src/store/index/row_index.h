// Finds rows of a table by content; both kinds leave the rows where they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "src/base/check.h"

namespace vesta::store::index {

inline constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

inline void PrefetchRow(const void* row) { __builtin_prefetch(row); }

// For rows that are dear to look at: a slot holds a tag of the hash beside the id.
// Shape: open addressing, linear probing, at most 3/4 full; a large one at least half full. A tag
//        goes to the slot that is as far in the table as it is in all numbers.
// Cost:  8 bytes a slot; growing reads only the slots, in order, and writes them in order.
class TaggedIndex {
 public:
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }

  void Prefetch(uint64_t hash) const {
    if (!slots_.empty()) PrefetchRow(&slots_[First(Tag(hash))]);
  }
  // The first row whose tag is that of the hash, most likely the right one; kNoRow = surely none.
  uint32_t Guess(uint64_t hash) const {
    if (slots_.empty()) return kNoRow;
    const uint32_t tag = Tag(hash);
    size_t at = First(tag);
    while (slots_[at].id != kNoRow && slots_[at].tag != tag) at = Behind(at);
    return slots_[at].id;
  }
  // Returns the row that equal(id) says yes to, else takes `fresh` in and returns it.
  template <typename Equal>
  uint32_t FindOrInsert(uint64_t hash, uint32_t fresh, const Equal& equal) {
    if ((count_ + 1) * 4 > slots_.size() * 3) Grow();
    const uint32_t tag = Tag(hash);
    size_t at = First(tag);
    while (slots_[at].id != kNoRow) {
      if (slots_[at].tag == tag && equal(slots_[at].id)) return slots_[at].id;
      at = Behind(at);
    }
    CHECK(fresh != kNoRow);
    slots_[at] = {tag, fresh};
    ++count_;
    return fresh;
  }
  size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t id = kNoRow;
  };
  size_t First(uint32_t tag) const { return (uint64_t{tag} * slots_.size()) >> 32; }
  size_t Behind(size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
  void Grow() {
    constexpr size_t kLarge = 1 << 18;  // 2 MB
    const size_t size = slots_.size();
    const size_t larger = size < kLarge ? std::max<size_t>(64, size * 2) : size / 2 * 3;
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(larger));
    for (const Slot& slot : before) {
      if (slot.id == kNoRow) continue;
      size_t at = First(slot.tag);
      while (slots_[at].id != kNoRow) at = Behind(at);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

// For very many rows that are cheap to look at: a slot is an id and nothing else.
// Shape: as above. Growing asks `hash_of(id)` of all rows in order.
// Cost:  4 bytes a slot.
class BareIndex {
 public:
  void Prefetch(uint64_t hash) const {
    if (!slots_.empty()) PrefetchRow(&slots_[hash & mask_]);
  }
  // What stands in the first slot: most likely the right one, if it is there at all.
  uint32_t Guess(uint64_t hash) const { return slots_.empty() ? kNoRow : slots_[hash & mask_]; }

  template <typename Equal, typename HashOf>
  uint32_t FindOrInsert(uint64_t hash, uint32_t fresh, const Equal& equal, const HashOf& hash_of) {
    if ((size_t{count_} + 1) * 4 > slots_.size() * 3) Grow(slots_.size() * 2, hash_of);
    size_t at = hash & mask_;
    while (slots_[at] != kNoRow) {
      if (equal(slots_[at])) return slots_[at];
      at = (at + 1) & mask_;
    }
    CHECK(fresh == count_ && fresh != kNoRow);
    slots_[at] = fresh;
    ++count_;
    return fresh;
  }
  // The row that equal(id) says yes to, or kNoRow.
  template <typename Equal>
  uint32_t Find(uint64_t hash, const Equal& equal) const {
    if (slots_.empty()) return kNoRow;
    size_t at = hash & mask_;
    while (slots_[at] != kNoRow && !equal(slots_[at])) at = (at + 1) & mask_;
    return slots_[at];
  }
  // Keeps its memory.
  void Clear() {
    std::fill(slots_.begin(), slots_.end(), kNoRow);
    count_ = 0;
  }
  // Takes in the rows up to `count` that are not in yet, without asking whether they are equal.
  template <typename HashOf>
  void CatchUp(uint32_t count, const HashOf& hash_of) {
    size_t slot_count = slots_.empty() ? 4096 : slots_.size();
    while ((size_t{count} + 1) * 4 > slot_count * 3) slot_count *= 2;
    if (slot_count != slots_.size()) Grow(slot_count, hash_of);
    for (; count_ < count; ++count_) Put(count_, hash_of(count_));
  }
  size_t memory_bytes() const { return slots_.capacity() * sizeof(uint32_t); }

 private:
  template <typename HashOf>
  void Grow(size_t slot_count, const HashOf& hash_of) {
    slots_.clear();
    slots_.shrink_to_fit();  // before the larger one is there: this is what peaks
    slots_.assign(slot_count < 4096 ? 4096 : slot_count, kNoRow);
    mask_ = slots_.size() - 1;
    for (uint32_t id = 0; id < count_; ++id) Put(id, hash_of(id));
  }
  void Put(uint32_t id, uint64_t hash) {
    size_t at = hash & mask_;
    while (slots_[at] != kNoRow) at = (at + 1) & mask_;
    slots_[at] = id;
  }

  std::vector<uint32_t> slots_;
  size_t mask_ = 0;
  uint32_t count_ = 0;  // rows 0 .. count_ - 1 are in
};

}  // namespace vesta::store::index
