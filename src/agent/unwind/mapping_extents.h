// Hands out runs of the array of mappings that agent and walker share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace vesta::agent::unwind {

// Shape: runs of 2^k entries, so that a freed run fits the next process of that size.
// Owner: agent thread. A freed run is given out again only after EndGracePeriod(): a walk that
// began
//        before the process was updated may still read it.
class MappingExtents {
 public:
  explicit MappingExtents(uint32_t entries_max) : entries_max_(entries_max) {}

  // First entry of a run that holds `count`; empty when there is no room.
  std::optional<uint32_t> Allocate(uint32_t count);
  void Free(uint32_t first, uint32_t count);
  void EndGracePeriod();

  uint32_t used_entries() const { return used_entries_; }

 private:
  static constexpr unsigned kClassMin = 3;  // 8 entries: a small static program has fewer
  static constexpr unsigned kClassCount = 32;
  static unsigned ClassOf(uint32_t count);

  struct Freed {
    uint32_t first;
    unsigned size_class;
  };

  uint32_t entries_max_;
  uint32_t next_ = 0;
  uint32_t used_entries_ = 0;
  std::array<std::vector<uint32_t>, kClassCount> free_;
  std::vector<Freed> freed_in_this_period_;
  std::vector<Freed> freed_before_;
};

}  // namespace vesta::agent::unwind
