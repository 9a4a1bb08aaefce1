#include "src/flame/svg_layout.h"

#include <utility>

namespace vesta::flame {
namespace {

// One level of the path to the node that is being placed.
struct Open {
  double next_x = 0;  // of the next child
  SvgBox rest;        // of its narrow children
};

class Layout {
 public:
  Layout(const StackTree& tree, std::span<const std::vector<int64_t>> totals, double width_px,
         double narrowest_px, size_t rows_max)
      : tree_(tree), totals_(totals), narrowest_px_(narrowest_px), rows_max_(rows_max) {
    const double sum = Width(0);
    px_ = sum > 0 ? width_px / sum : 0;
  }

  std::vector<SvgBox> Run() {
    for (size_t node = 0; node < tree_.node_count();) {
      const uint32_t depth = tree_.depth[node];
      while (open_.size() > depth) Close();
      const double width = Width(node) * px_;
      const bool is_shown = node == 0 || (width >= narrowest_px_ && depth < rows_max_);
      if (!is_shown) {
        node = Gather(node);
        continue;
      }
      double x = 0;
      if (depth > 0) x = std::exchange(open_.back().next_x, open_.back().next_x + width);
      boxes_.push_back(
          {.node = static_cast<uint32_t>(node), .row = depth, .x = x, .width = width, .rest = {}});
      open_.push_back({x, {}});
      ++node;
    }
    while (!open_.empty()) Close();
    return std::move(boxes_);
  }

 private:
  double Width(size_t node) const {
    double sum = 0;
    for (const auto& side : totals_) sum += static_cast<double>(side[node]);
    return sum;
  }

  // Adds a node and all below it to its caller's rest; gives the first node behind them.
  size_t Gather(size_t node) {
    SvgBox& rest = open_.back().rest;
    rest.rest.resize(totals_.size());
    for (size_t side = 0; side < totals_.size(); ++side)
      rest.rest[side] = profile::AddSaturating(rest.rest[side], totals_[side][node]);
    rest.width += Width(node) * px_;
    const uint32_t depth = tree_.depth[node];
    do {
      ++rest.rest_count;
      ++node;
    } while (node < tree_.node_count() && tree_.depth[node] > depth);
    return node;
  }

  void Close() {
    Open open = std::move(open_.back());
    open_.pop_back();
    if (open.rest.rest_count == 0) return;
    open.rest.row = static_cast<uint32_t>(open_.size() + 1);
    open.rest.x = open.next_x;
    boxes_.push_back(std::move(open.rest));
  }

  const StackTree& tree_;
  const std::span<const std::vector<int64_t>> totals_;
  const double narrowest_px_;
  const size_t rows_max_;
  double px_ = 0;           // per unit of value
  std::vector<Open> open_;  // by depth
  std::vector<SvgBox> boxes_;
};

}  // namespace

std::vector<SvgBox> LayOut(const StackTree& tree, std::span<const std::vector<int64_t>> totals,
                           double width_px, double narrowest_px, size_t rows_max) {
  return Layout(tree, totals, width_px, narrowest_px, rows_max).Run();
}

}  // namespace vesta::flame
