// Where the boxes of a static picture are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "src/flame/stack_tree.h"

namespace vesta::flame {

struct SvgBox {
  static constexpr uint32_t kRest = std::numeric_limits<uint32_t>::max();
  uint32_t node = kRest;
  uint32_t row = 0;           // = depth; the root's is 0
  uint32_t rest_count = 0;    // calls gathered in a rest
  double x = 0;               // px
  double width = 0;           // px
  std::vector<int64_t> rest;  // of a rest: total per side
};

// Shape: each box lies inside of its caller's; children in the order of the tree, the rest of the
//        narrow ones behind them. Where the widths of the shown children and the rest end, the
//        caller's self value begins.
// Units: totals per side, as NodeTotals gives them.
std::vector<SvgBox> LayOut(const StackTree& tree, std::span<const std::vector<int64_t>> totals,
                           double width_px, double narrowest_px, size_t rows_max);

}  // namespace vesta::flame
