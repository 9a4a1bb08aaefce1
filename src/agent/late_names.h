// Remembers what was sent with names that may get better, and tells the better ones when they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "src/agent/stack_namer.h"
#include "src/batch/symbol_batch.h"

namespace vesta::agent {

struct LateNamesBook {
  uint64_t addresses_named = 0;      // told again, with the index's names
  uint64_t addresses_unchanged = 0;  // no index came, so what was sent holds
  uint64_t addresses_dropped = 0;    // there was no room to remember them
};

struct LateSymbols {
  std::unique_ptr<profile::Profile> profile;
  batch::SymbolBatch symbols;  // of `profile`; without an id
};

// Owner: the thread of the image store.
// Cost:  8 bytes per address that waits.
class LateNames {
 public:
  explicit LateNames(NameSources& names, size_t addresses_max = 200'000)
      : names_(names), addresses_max_(addresses_max) {}

  void Add(std::vector<ProvisionalNames> provisional);
  // What is known by now of one of the images that waited. Nothing when all still wait.
  // Cost: as Namer::Name for that image; a look at each image that waits.
  std::optional<LateSymbols> Take();
  // Marks, by id, each image that waits: its number must go on meaning the same.
  void MarkImages(std::vector<bool>& needed) const;

  size_t waiting_count() const { return address_count_; }
  const LateNamesBook& book() const { return book_; }

 private:
  std::optional<LateSymbols> Tell(profile::ImageId image, const std::vector<uint64_t>& addresses);

  NameSources& names_;
  size_t addresses_max_;
  std::map<profile::ImageId, std::vector<uint64_t>> waiting_;  // sorted
  size_t address_count_ = 0;
  LateNamesBook book_;
};

}  // namespace vesta::agent
