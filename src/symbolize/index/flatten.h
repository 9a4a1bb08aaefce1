// Turns overlapping and nested ranges into ones that do not overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace vesta::symbolize {

// Offsets [start, end) of code. Of claims to the same offset the one with the highest rank holds.
struct Claim {
  uint32_t start = 0;
  uint32_t end = 0;
  uint64_t rank = 0;  // no two that overlap are equal
  uint32_t value = 0;
};

struct Piece {
  uint32_t start = 0;
  uint32_t end = 0;
  uint32_t value = 0;
};

// Sorts `claims`; `pieces` are replaced: sorted, disjoint, neighbours with one value joined.
// Cost: O(n log n), whatever overlaps.
void Flatten(std::vector<Claim>& claims, std::vector<Piece>& pieces);

}  // namespace vesta::symbolize
