// Facts that came a short while ago, in memory: they are in the log as well, until there are so
// many that they become a sorted file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/store/symbols/symbol_fact.h"

namespace vesta::store::symbols {

// (after, until]
struct VersionRange {
  uint64_t after = 0;
  uint64_t until = UINT64_MAX;
};

// Owner: shared; one thread adds, any number may ask meanwhile. Nothing of it moves or goes before
//        it goes as a whole.
// Cost:  about 150 bytes a place, and the texts of functions once. Earlier facts of a place stay.
class RecentSymbols {
 public:
  RecentSymbols();
  ~RecentSymbols();
  RecentSymbols(const RecentSymbols&) = delete;
  RecentSymbols& operator=(const RecentSymbols&) = delete;

  // Shape: the version is later than those before, or that of the same batch.
  void Add(const Place& place, const Fact& fact);
  // The latest of the place within the range. Lives as long as this.
  std::optional<Fact> Find(const Place& place, VersionRange range) const;
  // The latest version of any place of the image; 0 = there is none.
  uint64_t newest(const Hash128& image) const;

  // For the thread that adds.
  size_t memory_bytes() const { return memory_bytes_; }
  size_t place_count() const { return latest_.size(); }
  // The latest of each place, by place.
  std::vector<std::pair<Place, Fact>> Sorted() const;
  const std::unordered_map<Hash128, uint64_t, Hash128Hash>& images() const { return images_; }

 private:
  struct Entry {
    Fact fact;
    const Entry* older = nullptr;
  };
  std::string_view Keep(std::string_view text);
  const FunctionText* Keep(const FunctionText& function);

  mutable std::shared_mutex mutex_;
  std::unordered_map<Place, const Entry*, PlaceHash> latest_;
  std::unordered_map<Hash128, uint64_t, Hash128Hash> images_;
  std::unordered_set<FunctionText, FunctionTextHash> functions_;
  std::unordered_set<std::string> texts_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<FactLine[]>> lines_;
  size_t memory_bytes_ = 0;
};

}  // namespace vesta::store::symbols
