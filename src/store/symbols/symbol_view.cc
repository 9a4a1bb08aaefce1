#include "src/store/symbols/symbol_view.h"

#include <algorithm>

namespace vesta::store::symbols {

bool SymbolView::Knows(const Hash128& image, uint64_t after) const {
  if (version_ <= after) return false;
  const auto knows = [&](const auto& part) { return part->newest(image) > after; };
  return std::any_of(recent_.begin(), recent_.end(), knows) ||
         std::any_of(runs_.begin(), runs_.end(), knows);
}

std::optional<Fact> SymbolView::Find(const Place& place, uint64_t after) {
  for (const auto& recent : recent_) {
    if (auto fact = recent->Find(place, {after, version_})) return fact;
  }
  for (const auto& run : runs_) {
    auto found = run->Find(place, after, &block_);
    if (!found.ok()) {
      if (!damage_) damage_ = Damage{run, std::move(found).error()};
      continue;
    }
    if (found->has_value()) return *found;
  }
  return std::nullopt;
}

}  // namespace vesta::store::symbols
