// What each unit says of its code, packed, until all units were seen and overlaps can be resolved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/symbolize/index/index_format.h"

namespace vesta::symbolize {

// What is known of an address: the innermost function (a node), and the row of the line table.
struct Place {
  uint32_t node = 0;  // 0 = no function
  uint32_t file = 0;  // 0 = not known
  uint32_t line = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// How much a unit says of an address; of several units the one that says most holds, of those that
// say equally much the first.
enum class Knowledge : uint32_t { kFunctionAndLine, kFunction, kLine };

// Shape: offsets of code [start, end); each unit adds in rising order and without overlaps.
class AddressRuns {
 public:
  void BeginUnit() {
    open_ = false;
    ++unit_;
  }
  void Add(uint32_t start, uint32_t end, Knowledge knowledge, const Place& place);

  // Gives every known offset once, rising. Ends the use of the object.
  void Merge(const std::function<void(uint32_t start, uint32_t end, const Place&)>& give);

  uint64_t piece_count() const { return piece_count_; }
  size_t memory_bytes() const { return runs_.capacity() * sizeof(Run) + bytes_.capacity(); }

 private:
  // Pieces of one unit and one knowledge that touch each other.
  struct Run {
    uint32_t start = 0;
    uint32_t end = 0;
    uint64_t rank = 0;  // lower holds
    uint64_t bytes_at = 0;
  };
  class Cursor;

  std::vector<Run> runs_;
  std::vector<std::byte> bytes_;
  Place last_;
  bool open_ = false;
  uint64_t unit_ = 0;
  uint64_t piece_count_ = 0;
};

}  // namespace vesta::symbolize
