// A call tree as one static picture, for places that show no page: a mail, a report, a pull
// request.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/flame/stack_tree.h"

namespace vesta::flame {

struct SvgOptions {
  std::string title = {};
  std::vector<std::string> notes = {};  // what a reader must know: lost samples, ...
  bool root_below = false;              // a flame; else an icicle
  bool normalize = false;               // two sides: colours compare shares, not amounts
  double width_px = 1200;
  double narrowest_px = 0.5;
  size_t rows_max = 200;
  size_t boxes_max = 20'000;  // narrowest_px grows until they are enough
};

// Shape: SVG 1.1 in UTF-8, no script, no link, no font of its own. Width is the total (of both
// sides
//        together, so that nothing vanishes); a <title> on each box has the full name and values.
//        Calls narrower than narrowest_px, or deeper than rows_max, are gathered per caller in a
//        grey box that says how many they are; their share of the whole stands below the picture.
//        One side: a colour per binary, the largest in a legend. Two: blue is less, orange is more,
//        grey is
//        within noise.
// Units: value_type < number of value types.
// Cost:  one pass over the nodes, a few more when there would be too many boxes; size O(boxes_max).
std::string RenderSvg(const StackTree& tree, size_t value_type, const SvgOptions& options = {});

}  // namespace vesta::flame
