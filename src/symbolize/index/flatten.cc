#include "src/symbolize/index/flatten.h"

#include <algorithm>
#include <queue>

namespace vesta::symbolize {

void Flatten(std::vector<Claim>& claims, std::vector<Piece>& pieces) {
  pieces.clear();
  const auto starts_before = [](const Claim& a, const Claim& b) { return a.start < b.start; };
  if (!std::is_sorted(claims.begin(), claims.end(), starts_before)) {
    std::sort(claims.begin(), claims.end(), starts_before);
  }
  const auto emit = [&pieces](uint32_t start, uint32_t end, uint32_t value) {
    if (start >= end) return;
    if (!pieces.empty() && pieces.back().end == start && pieces.back().value == value) {
      pieces.back().end = end;
    } else {
      pieces.push_back({start, end, value});
    }
  };
  const auto ranks_below = [](const Claim& a, const Claim& b) { return a.rank < b.rank; };
  std::priority_queue<Claim, std::vector<Claim>, decltype(ranks_below)> open(ranks_below);
  uint32_t position = 0;
  for (size_t next = 0; next < claims.size() || !open.empty();) {
    if (open.empty()) position = std::max(position, claims[next].start);
    for (; next < claims.size() && claims[next].start <= position; ++next) open.push(claims[next]);
    while (!open.empty() && open.top().end <= position) open.pop();
    if (open.empty()) continue;
    const uint32_t next_start = next < claims.size() ? claims[next].start : open.top().end;
    const uint32_t end = std::min(open.top().end, next_start);
    emit(position, end, open.top().value);
    position = end;
  }
}

}  // namespace vesta::symbolize
