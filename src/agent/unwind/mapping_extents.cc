#include "src/agent/unwind/mapping_extents.h"

namespace vesta::agent::unwind {

unsigned MappingExtents::ClassOf(uint32_t count) {
  unsigned size_class = kClassMin;
  while (size_class < kClassCount - 1 && (uint64_t{1} << size_class) < count) ++size_class;
  return size_class;
}

std::optional<uint32_t> MappingExtents::Allocate(uint32_t count) {
  const unsigned size_class = ClassOf(count);
  const uint64_t size = uint64_t{1} << size_class;
  if (!free_[size_class].empty()) {
    const uint32_t first = free_[size_class].back();
    free_[size_class].pop_back();
    used_entries_ += static_cast<uint32_t>(size);
    return first;
  }
  if (next_ + size <= entries_max_) {
    const uint32_t first = next_;
    next_ += static_cast<uint32_t>(size);
    used_entries_ += static_cast<uint32_t>(size);
    return first;
  }
  // Split a larger run: the halves join their own lists.
  for (unsigned larger = size_class + 1; larger < kClassCount; ++larger) {
    if (free_[larger].empty()) continue;
    const uint32_t first = free_[larger].back();
    free_[larger].pop_back();
    for (unsigned half = larger; half-- > size_class;) {
      free_[half].push_back(first + (uint32_t{1} << half));
    }
    used_entries_ += static_cast<uint32_t>(size);
    return first;
  }
  return std::nullopt;
}

void MappingExtents::Free(uint32_t first, uint32_t count) {
  const unsigned size_class = ClassOf(count);
  used_entries_ -= uint32_t{1} << size_class;
  freed_in_this_period_.push_back({first, size_class});
}

void MappingExtents::EndGracePeriod() {
  for (const Freed& freed : freed_before_) free_[freed.size_class].push_back(freed.first);
  freed_before_.clear();
  freed_before_.swap(freed_in_this_period_);
}

}  // namespace vesta::agent::unwind
