// Trees: merged, of two sides, callers and callees; and the lines of a function.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "src/flame/sandwich.h"
#include "src/query/asking.h"

namespace vesta::query {
namespace {

constexpr size_t kTreeNodesMax = size_t{1} << 24;
constexpr size_t kFunctionsPerCheck = 1000;  // a pattern may take long with each
constexpr std::string_view kBefore = "before";
constexpr std::string_view kAfter = "after";

bool IsSampled(const store::ProfileType& type) {
  return type.period_type == type.type && type.period_unit == type.unit;
}

uint64_t MemoryOf(const flame::StackTree& tree) {
  uint64_t bytes = tree.node_count() * (2 * sizeof(uint32_t) + tree.self.size() * sizeof(int64_t));
  for (const std::string& text : tree.strings) bytes += sizeof(text) + text.capacity();
  return bytes + tree.functions.size() * sizeof(flame::TreeFunction) +
         tree.lines.size() * (sizeof(flame::TreeLine) + 2 * tree.self.size() * sizeof(int64_t));
}

void DescribeTree(Asking& asking, size_t sides, flame::StackTree& tree) {
  const Plan& plan = asking.plan();
  for (size_t side = 0; side < sides; ++side) {
    const store::TimeRange range = plan.ranges[side];
    int64_t time_ns = 0, duration_ns = 0;
    if (__builtin_mul_overflow(range.from_unix_ms, 1'000'000, &time_ns)) time_ns = 0;
    if (__builtin_sub_overflow(range.to_unix_ms, range.from_unix_ms, &duration_ns) ||
        __builtin_mul_overflow(duration_ns, 1'000'000, &duration_ns))
      duration_ns = 0;
    const std::string name(sides == 1 ? "" : side == 0 ? kBefore : kAfter);
    tree.sides.push_back({name, time_ns, duration_ns});
  }
  const store::ProfileType& type = plan.type.type;
  if (asking.has_count()) tree.value_types.push_back({type.count_type, "count", {}});
  tree.value_types.push_back({type.type, type.unit, {}});
  tree.value_type = asking.has_count() && !plan.type.shows_count ? 1 : 0;
}

// What a reader must know of a tree that was cut before all of it was there.
std::string EarlyCutText(const flame::StackTree& tree, int64_t missing_max, uint64_t nodes,
                         bool lines) {
  const std::vector<int64_t> totals = flame::NodeTotals(tree, tree.column(tree.value_type, 0));
  int64_t least = totals[0];
  for (size_t node = 1; node < totals.size(); ++node) {
    if (tree.name(tree.function[node]) != flame::kRestName) least = std::min(least, totals[node]);
  }
  std::string text = "the tree has more than " + std::to_string(nodes) +
                     " nodes, too many for the memory of one question, so that small branches "
                     "went to " +
                     std::string(flame::kRestName) + " while it was read: what is shown is exact";
  if (missing_max > least) {
    std::array<char, 32> percent = {};
    std::snprintf(percent.data(), percent.size(), "%.2g",
                  100.0 * static_cast<double>(missing_max) /
                      static_cast<double>(std::max<int64_t>(totals[0], 1)));
    text += ", but a branch of up to " + std::string(percent.data()) +
            " % may be missing where a smaller one is shown";
  }
  if (lines) text += "; lines of functions are left out";
  return text;
}

}  // namespace

base::Result<MadeTree> MakeTree(Asking& asking, size_t cut_nodes, bool lines) {
  const size_t sides = asking.request().selectors.size();
  MadeTree made;
  DescribeTree(asking, sides, made.tree);
  flame::TreeBuilder builder(sides * made.tree.value_types.size(), kTreeNodesMax);
  const size_t shown_column = made.tree.column(made.tree.value_type, 0);
  StackMerger merger(asking.has_count(), lines, sides, cut_nodes, shown_column, asking.limits(),
                     builder);
  const auto group_of = [&](uint32_t group) {
    const PlanGroup& row = asking.groups()[group];
    MergeGroup merge{0, row.side};
    for (const std::string& value : row.values) {
      if (!value.empty())
        merge.root = builder.Child(merge.root, builder.frames().PlaceOfLabel(value));
    }
    return merge;
  };
  const auto read_all = [&]() -> base::Result<void> {
    for (const PlanRead& read : asking.plan().reads) {
      RETURN_IF_ERROR(asking.Stacks(
          read, [&](const store::StackBlock& block) { return merger.Add(block, group_of); }));
    }
    return {};
  };
  RETURN_IF_ERROR(read_all());
  if (merger.was_cut()) {
    merger.Restart();
    RETURN_IF_ERROR(read_all());
  }
  for (size_t side = 0; side < sides; ++side) {
    const MergeSide& sums = merger.sides()[side];
    asking.AddTotal(side, {sums.value, sums.count});
    if (asking.has_count()) made.tree.value_types[0].per_sample.push_back(1);
    const double per_sample = sums.worth.PerSample(IsSampled(asking.plan().type.type));
    made.tree.value_types.back().per_sample.push_back(asking.has_count() ? per_sample : 0);
  }
  const auto finished = asking.Timed("make the tree", [&]() -> base::Result<size_t> {
    RETURN_IF_ERROR(asking.CheckLimits());
    if (sides == 2) {
      std::vector<std::vector<size_t>> columns(2);
      for (size_t type = 0; type < made.tree.value_types.size(); ++type) {
        for (size_t side = 0; side < 2; ++side)
          columns[side].push_back(made.tree.column(type, side));
      }
      builder.ReplaceImages(columns[0], flame::MatchImages(builder.ImagesOf(columns[0]),
                                                           builder.ImagesOf(columns[1])));
    }
    return builder.Finish({.nodes_max = cut_nodes, .lines = lines}, made.tree);
  });
  if (!finished.ok()) return finished.error();
  RETURN_IF_ERROR(asking.TakeMemory(MemoryOf(made.tree)));
  made.nodes_all = std::max(*finished, builder.most_nodes());
  if (merger.was_cut())
    asking.AddNote(EarlyCutText(made.tree, builder.missing_max(), made.nodes_all, lines));
  return made;
}

base::Result<std::vector<bool>> FindFunctions(const Asking& asking, const flame::StackTree& tree) {
  const Request& request = asking.request();
  std::vector<Pattern> pattern;
  if (request.function_is_pattern) {
    ASSIGN_OR_RETURN(Pattern compiled, Pattern::Compile(request.function));
    pattern.push_back(std::move(compiled));
  }
  std::vector<bool> wanted(tree.functions.size());
  for (uint32_t i = 1; i < wanted.size(); ++i) {
    if (i % kFunctionsPerCheck == 0) RETURN_IF_ERROR(asking.CheckLimits());
    if (tree.functions[i].kind == flame::FunctionKind::kProcess) continue;
    wanted[i] = pattern.empty() ? tree.name(i) == request.function : pattern[0].Finds(tree.name(i));
  }
  return wanted;
}

ValueCount ColumnsAt(const flame::StackTree& tree, const std::vector<std::vector<int64_t>>& columns,
                     size_t index, size_t side) {
  const size_t types = tree.value_types.size();
  ValueCount sum;
  sum.value = columns[tree.column(types - 1, side)][index];
  if (types == 2) sum.count = columns[tree.column(0, side)][index];
  return sum;
}

std::vector<TopRow> FunctionRows(const flame::StackTree& tree, const std::vector<bool>& wanted) {
  std::vector<std::vector<int64_t>> self, total;
  for (size_t column = 0; column < tree.self.size(); ++column) {
    flame::FunctionSums sums = flame::SumFunctions(tree, column);
    self.push_back(std::move(sums.self));
    total.push_back(std::move(sums.total));
  }
  const size_t side = tree.sides.size() - 1;
  std::vector<TopRow> rows;
  for (uint32_t i = 1; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    rows.push_back({tree.name(i), tree.image(i),
                    tree.functions[i].image == 0 ? tree.strings[tree.functions[i].file] : "",
                    ColumnsAt(tree, self, i, side), ColumnsAt(tree, total, i, side)});
  }
  return rows;
}

std::string NotFoundText(const Request& request) {
  if (request.function_is_pattern)
    return "no function here has /" + request.function + "/ in its name; (?i) ignores case";
  return "no function here is called " + request.function + "; /" + request.function +
         "/ finds it within longer names";
}

base::Result<Answer> AskTree(Asking& asking) {
  const Request& request = asking.request();
  const bool is_plain = request.question == Question::kTree;
  ASSIGN_OR_RETURN(MadeTree made,
                   MakeTree(asking, is_plain ? request.nodes_max : 0, request.lines));
  TreeAnswer answer;
  answer.rows_max = request.rows_max;
  answer.tree = std::move(made.tree);
  answer.nodes_all = made.nodes_all;
  if (request.question == Question::kDiff) {
    const auto order =
        request.top_order == TopOrder::kSelf ? flame::DiffOrder::kSelf : flame::DiffOrder::kTotal;
    answer.difference.push_back(flame::MakeDiffTable(
        answer.tree, answer.tree.value_type, {.order = order, .normalize = request.normalize}));
  } else if (!is_plain) {
    ASSIGN_OR_RETURN(const std::vector<bool> wanted, FindFunctions(asking, answer.tree));
    answer.functions = FunctionRows(answer.tree, wanted);
    if (answer.functions.empty()) asking.AddNote(NotFoundText(request));
    answer.tree = request.question == Question::kCallers ? flame::CallersOf(answer.tree, wanted)
                                                         : flame::CalleesOf(answer.tree, wanted);
    answer.nodes_all = answer.tree.node_count();
  }
  if (request.nodes_max != 0) flame::CutTree(request.nodes_max, answer.tree);
  answer.about = asking.TakeAbout();
  return Answer(std::move(answer));
}

// Leaves the lines with the largest self and total, in the order of the file.
void CutLines(size_t rows_max, LinesAnswer& answer) {
  if (rows_max == 0 || answer.rows.size() <= rows_max) return;
  std::vector<size_t> order(answer.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&answer](size_t i) {
    const LineRow& row = answer.rows[i];
    return std::tuple(row.self.value, row.self.count, row.total.value, row.total.count);
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return key(a) > key(b); });
  std::ranges::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rows_max));
  std::vector<LineRow> kept;
  for (size_t i = 0; i < rows_max; ++i) kept.push_back(std::move(answer.rows[order[i]]));
  for (size_t i = rows_max; i < order.size(); ++i) {
    const ValueCount& self = answer.rows[order[i]].self;
    answer.self_behind.Add(self);
  }
  answer.rows_behind = order.size() - rows_max;
  answer.rows = std::move(kept);
}

base::Result<Answer> AskLines(Asking& asking) {
  const Request& request = asking.request();
  ASSIGN_OR_RETURN(const MadeTree made, MakeTree(asking, 0, true));
  const flame::StackTree& tree = made.tree;
  ASSIGN_OR_RETURN(const std::vector<bool> wanted, FindFunctions(asking, tree));
  LinesAnswer answer;
  answer.functions = FunctionRows(tree, wanted);
  if (answer.functions.empty()) asking.AddNote(NotFoundText(request));
  for (size_t i = 0; i < tree.lines.size(); ++i) {
    const flame::TreeLine& line = tree.lines[i];
    if (!wanted[line.function]) continue;
    LineRow row{tree.name(line.function),
                tree.image(line.function),
                tree.strings[tree.functions[line.function].file],
                line.line,
                ColumnsAt(tree, tree.line_self, i, 0),
                ColumnsAt(tree, tree.line_total, i, 0)};
    answer.rows.push_back(std::move(row));
  }
  if (answer.rows.empty() && !answer.functions.empty())
    asking.AddNote(
        "its lines are not known: the profile, or the binary's debug information, lacks them");
  CutLines(request.rows_max, answer);
  answer.about = asking.TakeAbout();
  return Answer(std::move(answer));
}

}  // namespace vesta::query
