// The address ranges of an entry whose code is in several parts: .debug_ranges (version 2 to 4) and
// .debug_rnglists (5).
#pragma once

#include <cstdint>
#include <vector>

#include "src/dwarf/unit.h"
#include "src/dwarf/unit_context.h"

namespace vesta::dwarf {

// Appends the ranges that DW_AT_ranges leads to, as far as they are good, without the empty ones
// and those of removed code. Takes the bytes that it reads from the budget; false when the list is
// damaged, the budget is spent, or `out` has range_count_max ranges (what came before stays).
bool AppendRangeList(const UnitContext& unit, const Value& ranges, uint64_t& budget_bytes,
                     size_t range_count_max, std::vector<Range>& out);

}  // namespace vesta::dwarf
