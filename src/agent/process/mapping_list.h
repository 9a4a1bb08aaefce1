// The executable mappings of one process, in order and without overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/profile/frame.h"

namespace vesta::agent::process {

struct Mapping {
  uint64_t start = 0;  // process addresses [start, end)
  uint64_t end = 0;
  uint64_t bias = 0;  // process address - bias = address inside the image
  profile::ImageId image;
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// Shape:  sorted by start; neighbours that continue each other inside one image are one mapping.
// Cost:   Add is a binary search plus moving what lies behind; appending in order is constant.
class MappingList {
 public:
  enum class Outcome { kUnchanged, kChanged, kFull };

  explicit MappingList(size_t count_max) : count_max_(count_max) {}

  // What the new mapping covers of older ones is gone, also when there is no room for it (kFull).
  Outcome Add(const Mapping& added);
  void Clear() { mappings_.clear(); }

  const Mapping* Find(uint64_t process_address) const;
  std::span<const Mapping> all() const { return mappings_; }

 private:
  size_t count_max_;
  std::vector<Mapping> mappings_;
};

}  // namespace vesta::agent::process
