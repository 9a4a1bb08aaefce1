// The executable mappings of one process, in order and without overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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
  void SetLimit(size_t count_max) { count_max_ = count_max; }

  // What the new mapping covers of older ones is gone, also when there is no room for it (kFull).
  Outcome Add(const Mapping& added);
  void Clear() { mappings_.clear(); }

  const Mapping* Find(uint64_t process_address) const;
  std::span<const Mapping> all() const { return mappings_; }

 private:
  size_t count_max_;
  std::vector<Mapping> mappings_;
};

// The part of a common number of mappings that one list takes.
class MappingShare {
 public:
  // `left` is what is left of the common number; it outlives the share.
  explicit MappingShare(size_t& left) : left_(&left) {}
  MappingShare(MappingShare&& other) noexcept
      : left_(other.left_), count_(std::exchange(other.count_, 0)) {}
  MappingShare& operator=(MappingShare&& other) noexcept {
    std::swap(left_, other.left_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~MappingShare() { Take(0); }

  size_t count_max() const { return count_ + *left_; }
  // Shape: count <= count_max().
  void Take(size_t count) {
    *left_ = *left_ + count_ - count;
    count_ = count;
  }

 private:
  size_t* left_;
  size_t count_ = 0;
};

}  // namespace vesta::agent::process
