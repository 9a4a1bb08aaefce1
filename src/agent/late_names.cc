#include "src/agent/late_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vesta::agent {

void LateNames::Add(std::vector<ProvisionalNames> provisional) {
  for (ProvisionalNames& each : provisional) {
    std::vector<uint64_t>& known = waiting_[each.image];
    std::vector<uint64_t> merged;
    std::set_union(known.begin(), known.end(), each.addresses.begin(), each.addresses.end(),
                   std::back_inserter(merged));
    const size_t fresh = merged.size() - known.size();
    if (fresh > addresses_max_ - address_count_) {
      book_.addresses_dropped += fresh;
      continue;
    }
    address_count_ += fresh;
    known = std::move(merged);
  }
}

std::optional<LateSymbols> LateNames::Take() {
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    if (names_.namer.IsPending(each->first)) {
      ++each;
      continue;
    }
    const auto taken = waiting_.extract(each++);
    address_count_ -= taken.mapped().size();
    if (auto told = Tell(taken.key(), taken.mapped())) return told;
  }
  return std::nullopt;
}

std::optional<LateSymbols> LateNames::Tell(profile::ImageId image,
                                           const std::vector<uint64_t>& addresses) {
  if (!names_.namer.HasIndex(image)) {
    book_.addresses_unchanged += addresses.size();
    return std::nullopt;
  }
  const auto named = names_.namer.Name(image, addresses);
  if (!named.ok()) {
    book_.addresses_unchanged += addresses.size();
    return std::nullopt;
  }
  LateSymbols told{std::make_unique<profile::Profile>(), {}};
  profile::Mapping mapping = MappingOf(names_.images.image(image), *told.profile);
  SayWhatIsKnown(*named, mapping);
  const profile::MappingId mapping_id = told.profile->AddMapping(mapping);
  for (size_t i = 0; i < addresses.size(); ++i) {
    const symbolize::Symbol& symbol = (*named)[i];
    if (symbol.lines.empty()) {
      ++book_.addresses_unchanged;
      continue;
    }
    told.symbols.locations.push_back(InternNamed(mapping_id, addresses[i], &symbol, *told.profile));
  }
  if (told.symbols.locations.empty()) return std::nullopt;
  book_.addresses_named += told.symbols.locations.size();
  told.symbols.profile = told.profile.get();
  return told;
}

void LateNames::MarkImages(std::vector<bool>& needed) const {
  for (const auto& [image, addresses] : waiting_) needed[image.value()] = true;
}

}  // namespace vesta::agent
