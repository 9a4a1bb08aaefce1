// A trie of paths whose nodes are dense numbers, built one step at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/profile/id_index.h"

namespace vesta::flame {

// Shape: node 0 is the root; a child's number is greater than its parent's. An item is what the
//        step from parent to child is called.
// Cost:  a step is one probe of a table of 12 bytes per slot, at most half full; going down a path
//        in the order in which it was built needs no probe.
class CallTrie {
 public:
  CallTrie() : slots_(64), mask_(63), parents_{0}, items_{0} {}

  uint32_t Child(uint32_t parent, uint32_t item) {
    const uint32_t next = parent + 1;  // the first child that a node got, when it got it at once
    if (next < parents_.size() && parents_[next] == parent && items_[next] == item) return next;
    size_t position = profile::HashWord(parent, item) & mask_;
    while (slots_[position].node != 0) {
      const Slot& slot = slots_[position];
      if (slot.parent == parent && slot.item == item) return slot.node;
      position = (position + 1) & mask_;
    }
    const auto node = static_cast<uint32_t>(parents_.size());
    slots_[position] = {parent, item, node};
    parents_.push_back(parent);
    items_.push_back(item);
    if (parents_.size() * 2 > slots_.size()) Grow();
    return node;
  }

  // As Child, of a child that is there; 0 = it is not.
  uint32_t Find(uint32_t parent, uint32_t item) const {
    size_t position = profile::HashWord(parent, item) & mask_;
    while (slots_[position].node != 0) {
      const Slot& slot = slots_[position];
      if (slot.parent == parent && slot.item == item) return slot.node;
      position = (position + 1) & mask_;
    }
    return 0;
  }

  size_t size() const { return parents_.size(); }
  uint32_t parent(uint32_t node) const { return parents_[node]; }
  uint32_t item(uint32_t node) const { return items_[node]; }

 private:
  struct Slot {
    uint32_t parent = 0;
    uint32_t item = 0;
    uint32_t node = 0;  // 0 = free: the root is nobody's child
  };

  void Grow() {
    std::vector<Slot>(slots_.size() * 4).swap(slots_);
    mask_ = slots_.size() - 1;
    for (uint32_t node = 1; node < parents_.size(); ++node) {
      size_t position = profile::HashWord(parents_[node], items_[node]) & mask_;
      while (slots_[position].node != 0) position = (position + 1) & mask_;
      slots_[position] = {parents_[node], items_[node], node};
    }
  }

  std::vector<Slot> slots_;
  size_t mask_;
  std::vector<uint32_t> parents_;
  std::vector<uint32_t> items_;
};

}  // namespace vesta::flame
