#include "src/flame/diff_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <utility>

namespace vesta::flame {
namespace {

constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

// Functions that share a row: equal name and binary (or file, where no binary is known), or all
// addresses of a binary without a name.
struct Groups {
  std::vector<uint32_t> of_function;  // kNoRow = none
  std::vector<DiffRow> rows;
};

Groups GroupFunctions(const StackTree& tree) {
  Groups groups;
  groups.of_function.assign(tree.functions.size(), kNoRow);
  std::vector<uint32_t> unnamed_of_image(tree.strings.size(), kNoRow);
  const auto add = [&](std::string_view name, const std::string& path, std::string_view file) {
    groups.rows.push_back({.name = std::string(name),
                           .image = path.substr(path.rfind('/') + 1),
                           .file = std::string(file)});
    return static_cast<uint32_t>(groups.rows.size() - 1);
  };
  const TreeFunction* last = nullptr;
  for (uint32_t i = 1; i < tree.functions.size(); ++i) {
    const TreeFunction& function = tree.functions[i];
    if (function.kind == FunctionKind::kProcess) continue;
    if (function.kind == FunctionKind::kUnnamed) {
      uint32_t& row = unnamed_of_image[function.image];
      if (row == kNoRow) row = add("", tree.image(i), "");
      groups.of_function[i] = row;
      ++groups.rows[row].unnamed_address_count;
      continue;
    }
    // Only the kind tells them apart then: they are neighbours in the order of functions.
    const bool same = last != nullptr && last->name == function.name &&
                      last->image == function.image &&
                      (function.image != 0 || last->file == function.file);
    if (!same)
      add(tree.name(i), tree.image(i), tree.strings[function.image == 0 ? function.file : 0]);
    groups.of_function[i] =
        same ? groups.of_function[static_cast<size_t>(last - tree.functions.data())]
             : static_cast<uint32_t>(groups.rows.size() - 1);
    last = &function;
  }
  return groups;
}

void SortRows(DiffTable& table) {
  const auto magnitude = [](const DiffFigure& figure) { return std::abs(figure.difference()); };
  const auto key = [&](const DiffRow& row) {
    return table.order == DiffOrder::kSelf ? std::pair(magnitude(row.self), magnitude(row.total))
                                           : std::pair(magnitude(row.total), magnitude(row.self));
  };
  std::ranges::sort(table.rows, [&](const DiffRow& a, const DiffRow& b) {
    if (key(a) != key(b)) return key(a) > key(b);
    return std::tie(a.name, a.image, a.file) < std::tie(b.name, b.image, b.file);
  });
}

// By the tree's counts, else by what one sample stands for; 0 = unknown.
int64_t CountOfSamples(const StackTree& tree, const TreeValueType& type, size_t side,
                       int64_t value) {
  for (size_t i = 0; i < tree.value_types.size(); ++i) {
    if (tree.value_types[i].type == "samples" && tree.value_types[i].unit == "count")
      return NodeTotals(tree, tree.column(i, side))[0];
  }
  const double each = type.per_sample[side];
  return each > 0 ? std::llround(static_cast<double>(value) / each) : 0;
}

}  // namespace

DiffFigure NoiseRule::Figure(int64_t before, int64_t after) const {
  const double scaled = static_cast<double>(after) * after_scale;
  const double variance =
      static_cast<double>(before) * before_per_sample + scaled * after_per_sample * after_scale;
  const double difference = std::abs(scaled - static_cast<double>(before));
  const int64_t shown = after_scale == 1 ? after : std::llround(std::min(scaled, 9e18));
  return {before, shown, known() && difference <= 2 * std::sqrt(variance)};
}

DiffTable MakeDiffTable(const StackTree& tree, size_t value_type, const DiffOptions& options) {
  CHECK(tree.sides.size() == 2 && value_type < tree.value_types.size());
  const TreeValueType& type = tree.value_types[value_type];
  DiffTable table{.type = type.type,
                  .unit = type.unit,
                  .sides = {tree.sides[0], tree.sides[1]},
                  .sum = {},
                  .normalized = options.normalize,
                  .order = options.order,
                  .rows = {}};
  Groups groups = GroupFunctions(tree);
  std::array<FunctionSums, 2> sums;
  std::array<int64_t, 2> all = {};
  for (size_t side = 0; side < 2; ++side) {
    const size_t column = tree.column(value_type, side);
    sums[side] = SumGroups(tree, column, groups.of_function, groups.rows.size());
    all[side] = NodeTotals(tree, column)[0];
    table.sample_counts[side] = CountOfSamples(tree, type, side, all[side]);
  }
  table.sum = NoiseRule{type.per_sample[0], type.per_sample[1]}.Figure(all[0], all[1]);
  if (options.normalize && all[0] > 0 && all[1] > 0)
    table.after_scale = static_cast<double>(all[0]) / static_cast<double>(all[1]);
  const NoiseRule noise{type.per_sample[0], type.per_sample[1], table.after_scale};
  table.noise_known = noise.known();
  for (size_t i = 0; i < groups.rows.size(); ++i) {
    DiffRow& row = groups.rows[i];
    row.self = noise.Figure(sums[0].self[i], sums[1].self[i]);
    row.total = noise.Figure(sums[0].total[i], sums[1].total[i]);
    if (row.is_new() && row.is_gone()) continue;
    table.rows.push_back(std::move(row));
  }
  SortRows(table);
  return table;
}

}  // namespace vesta::flame
