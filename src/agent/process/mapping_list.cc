#include "src/agent/process/mapping_list.h"

#include <algorithm>
#include <array>

#include "src/base/check.h"

namespace vesta::agent::process {
namespace {

bool SameImage(const Mapping& a, const Mapping& b) {
  return a.image == b.image && a.bias == b.bias;
}

}  // namespace

MappingList::Outcome MappingList::Add(const Mapping& added) {
  CHECK(added.start < added.end);
  // First one that the new mapping overlaps or touches.
  auto first = std::lower_bound(mappings_.begin(), mappings_.end(), added.start,
                                [](const Mapping& m, uint64_t start) { return m.end < start; });
  auto last = first;
  Mapping whole = added;
  std::array<Mapping, 3> pieces;
  size_t piece_count = 0;
  bool has_right_rest = false;
  Mapping right_rest;
  for (; last != mappings_.end() && last->start <= added.end; ++last) {
    if (SameImage(*last, added)) {
      if (last->start <= added.start && added.end <= last->end) return Outcome::kUnchanged;
      whole.start = std::min(whole.start, last->start);
      whole.end = std::max(whole.end, last->end);
      continue;
    }
    if (last->start < added.start) {
      pieces[piece_count] = *last;
      pieces[piece_count++].end = std::min(last->end, added.start);
    }
    if (last->end > added.end) {
      has_right_rest = true;
      right_rest = *last;
      right_rest.start = std::max(last->start, added.end);
    }
  }
  const auto replaced = static_cast<size_t>(last - first);
  const size_t kept = mappings_.size() - replaced;
  Outcome outcome = Outcome::kChanged;
  if (kept + piece_count + 1 + (has_right_rest ? 1 : 0) <= count_max_) {
    pieces[piece_count++] = whole;
  } else {
    outcome = Outcome::kFull;
  }
  if (has_right_rest && kept + piece_count < count_max_) pieces[piece_count++] = right_rest;

  const size_t overwritten = std::min(replaced, piece_count);
  const auto tail = std::copy_n(pieces.begin(), overwritten, first);
  if (piece_count > replaced) {
    mappings_.insert(tail, pieces.begin() + static_cast<ptrdiff_t>(overwritten),
                     pieces.begin() + static_cast<ptrdiff_t>(piece_count));
  } else {
    mappings_.erase(tail, last);
  }
  return outcome;
}

const Mapping* MappingList::Find(uint64_t process_address) const {
  const auto after =
      std::upper_bound(mappings_.begin(), mappings_.end(), process_address,
                       [](uint64_t address, const Mapping& m) { return address < m.start; });
  if (after == mappings_.begin()) return nullptr;
  const Mapping& candidate = *(after - 1);
  return process_address < candidate.end ? &candidate : nullptr;
}

}  // namespace vesta::agent::process
