// Goes over the entries of one unit and gathers the places where functions have code.
#pragma once

#include <cstdint>
#include <vector>

#include "src/dwarf/function_table.h"
#include "src/dwarf/unit.h"
#include "src/dwarf/unit_context.h"

namespace vesta::dwarf {

class ScopeWalk {
 public:
  static constexpr size_t kDepthMax = size_t{1} << 14;
  static constexpr size_t kScopesMax = size_t{1} << 21;  // with their functions 200 MB
  static constexpr size_t kRangesMax = size_t{1} << 22;  // 64 MB

  ScopeWalk(const UnitContext& unit, FunctionTable& functions, Budget& budget, Unit& out)
      : unit_(unit), functions_(functions), budget_(budget), out_(out) {}

  enum class Outcome { kWhole, kDamaged, kCutByLimit };
  Outcome Run();

  uint64_t damaged_range_list_count() const { return damaged_range_list_count_; }

 private:
  enum class Code { kUnsaid, kRemoved, kHere };

  uint32_t EnterFunction(uint64_t offset, const EntryValues& values);
  uint32_t EnterInlined(uint64_t offset, const EntryValues& values, uint32_t parent,
                        bool has_children);
  Code AppendRanges(const EntryValues& values);
  void AddScope(uint32_t function, uint32_t parent, size_t first_range);

  const UnitContext& unit_;
  FunctionTable& functions_;
  Budget& budget_;
  Unit& out_;
  std::vector<uint32_t> open_;  // scope of the entries around, outermost first
  uint64_t damaged_range_list_count_ = 0;
  bool ranges_cut_ = false;
};

}  // namespace vesta::dwarf
