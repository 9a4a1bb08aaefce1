// Names that were told of places after the samples: what a fact is, and what it is about.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/store/batch.h"
#include "src/store/symbol_check.h"

namespace vesta::store::symbols {

// Stands for text of any length.
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};
Hash128 HashOf(const SymbolImage& image);
Hash128 HashOf(const BatchId& id);

struct Hash128Hash {
  size_t operator()(const Hash128& hash) const { return static_cast<size_t>(hash.low); }
};

struct Place {
  Hash128 image;
  uint64_t address = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};
struct PlaceHash {
  size_t operator()(const Place& place) const {
    return static_cast<size_t>((place.image.low ^ place.address) * 0x9e3779b97f4a7c15u >> 7);
  }
};

struct FunctionText {
  std::string_view name;
  std::string_view system_name;
  std::string_view file;
  int64_t start_line = 0;
  friend bool operator==(const FunctionText&, const FunctionText&) = default;
};
struct FunctionTextHash {
  size_t operator()(const FunctionText& function) const;
};
struct FactLine {
  const FunctionText* function = nullptr;
  int64_t line = 0;
  int64_t column = 0;
};

// Shape: lines innermost first, at least one. A version is later than all that were given before;
//        it is the time of the machine's clock in microseconds, as far as that runs forward.
struct Fact {
  uint64_t version = 0;
  std::span<const FactLine> lines;
};
bool SameLines(std::span<const FactLine> a, std::span<const FactLine> b);

}  // namespace vesta::store::symbols
