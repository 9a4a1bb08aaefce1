#include "src/store/symbols/recent_symbols.h"

#include <algorithm>
#include <mutex>

namespace vesta::store::symbols {
namespace {

// Of a member of a hash table, beside what it holds: links, hash, and its part of the buckets.
constexpr size_t kMemberBytes = 40;
constexpr size_t kAllocationBytes = 24;  // and the pointer to it

}  // namespace

RecentSymbols::RecentSymbols() = default;
RecentSymbols::~RecentSymbols() = default;

std::string_view RecentSymbols::Keep(std::string_view text) {
  const auto [place, is_new] = texts_.emplace(text);
  if (is_new) memory_bytes_ += kMemberBytes + sizeof(std::string) + text.size();
  return *place;
}

const FunctionText* RecentSymbols::Keep(const FunctionText& function) {
  if (const auto known = functions_.find(function); known != functions_.end()) return &*known;
  const FunctionText kept = {Keep(function.name), Keep(function.system_name), Keep(function.file),
                             function.start_line};
  memory_bytes_ += kMemberBytes + sizeof(FunctionText);
  return &*functions_.insert(kept).first;
}

void RecentSymbols::Add(const Place& place, const Fact& fact) {
  auto entry = std::make_unique<Entry>();
  auto lines = std::make_unique<FactLine[]>(fact.lines.size());
  for (size_t i = 0; i < fact.lines.size(); ++i) {
    lines[i] = fact.lines[i];
    lines[i].function = Keep(*fact.lines[i].function);
  }
  entry->fact = {fact.version, {lines.get(), fact.lines.size()}};
  memory_bytes_ += 2 * kAllocationBytes + sizeof(Entry) + fact.lines.size_bytes();
  const std::unique_lock lock(mutex_);
  const auto [latest, is_new_place] = latest_.try_emplace(place, nullptr);
  const auto [image, is_new_image] = images_.try_emplace(place.image, 0);
  entry->older = std::exchange(latest->second, entry.get());
  image->second = fact.version;
  if (is_new_place) memory_bytes_ += kMemberBytes + sizeof(Place) + sizeof(void*);
  if (is_new_image) memory_bytes_ += kMemberBytes + sizeof(Hash128) + sizeof(uint64_t);
  entries_.push_back(std::move(entry));
  lines_.push_back(std::move(lines));
}

std::optional<Fact> RecentSymbols::Find(const Place& place, VersionRange range) const {
  const std::shared_lock lock(mutex_);
  const auto latest = latest_.find(place);
  if (latest == latest_.end()) return std::nullopt;
  const Entry* entry = latest->second;
  while (entry != nullptr && entry->fact.version > range.until) entry = entry->older;
  if (entry == nullptr || entry->fact.version <= range.after) return std::nullopt;
  return entry->fact;
}

uint64_t RecentSymbols::newest(const Hash128& image) const {
  const std::shared_lock lock(mutex_);
  const auto known = images_.find(image);
  return known == images_.end() ? 0 : known->second;
}

std::vector<std::pair<Place, Fact>> RecentSymbols::Sorted() const {
  std::vector<std::pair<Place, Fact>> facts;
  facts.reserve(latest_.size());
  for (const auto& [place, entry] : latest_) facts.emplace_back(place, entry->fact);
  std::sort(facts.begin(), facts.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return facts;
}

}  // namespace vesta::store::symbols
