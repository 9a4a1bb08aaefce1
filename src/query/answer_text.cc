// Answers as tables for people.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "src/base/calendar.h"
#include "src/base/printable.h"
#include "src/flame/diff_render.h"
#include "src/flame/table_text.h"
#include "src/flame/top_render.h"
#include "src/flame/units.h"
#include "src/query/answer.h"
#include "src/query/series_chart.h"

namespace vesta::query {
namespace {

using base::Printable;
using flame::PadLeft;

constexpr size_t kValueColumns = 10;
constexpr size_t kPercentColumns = 7;
constexpr size_t kCountColumns = 10;
constexpr size_t kChartWidthColumns = 100;  // of a line with a chart, when nobody says how wide
constexpr size_t kChartColumnsMin = 8;

std::string Notes(const About& about) {
  std::string text;
  for (const std::string& note : about.notes) text += Printable(note) + '\n';
  return text;
}

// Two lines, so that 80 columns are enough:
// cpu: 9.81s, 971 samples, 12 series
// 2026-11-30T13:00:00Z to 2026-11-30T14:00:00Z
std::string Heading(const About& about) {
  std::string text = Printable(about.type_name());
  if (!text.empty() && !about.totals.empty()) {
    text += ": " + flame::SumText(about.Shown(about.totals[0]), about.unit());
    if (!about.plan.type.shows_count && !about.plan.type.type.count_type.empty())
      text += ", " + flame::SamplesText(about.totals[0].count);
  }
  text += (text.empty() ? "" : ", ") + std::to_string(about.plan.series[0]) + " series\n" +
          RangeText(about.plan.ranges[0]) + '\n';
  return text + Notes(about);
}

// One unit for all rows that are shown.
flame::ValueFormat FormatFor(const About& about, const std::vector<int64_t>& values) {
  int64_t least = 0, most = 0;
  for (const int64_t value : values) {
    if (value > 0 && (least == 0 || value < least)) least = value;
    most = std::max(most, value);
  }
  return flame::ValueFormat(about.unit(), least, most);
}

std::string BehindText(uint64_t rows, std::string_view what, const std::string& sum) {
  if (rows == 0) return {};
  return "... " + std::to_string(rows) + " more " + std::string(what) + (rows == 1 ? "" : "s") +
         (sum.empty() ? "" : ": " + sum) + '\n';
}

std::string TopRowsText(const About& about, const std::vector<TopRow>& rows, std::string_view title,
                        size_t width_columns, std::string_view without = "(without a name)") {
  if (rows.empty()) return {};
  const int64_t all = about.totals.empty() ? 0 : about.Shown(about.totals[0]);
  std::vector<int64_t> values = {all};
  for (const TopRow& row : rows)
    values.push_back(about.Shown(row.self) != 0 ? about.Shown(row.self) : about.Shown(row.total));
  const flame::ValueFormat format = FormatFor(about, values);
  const auto columns = [](const std::string& self, const std::string& self_percent,
                          const std::string& total, const std::string& total_percent) {
    return PadLeft(self, kValueColumns) + ' ' + PadLeft(self_percent, kPercentColumns) + ' ' +
           PadLeft(total, kValueColumns) + ' ' + PadLeft(total_percent, kPercentColumns) + "  ";
  };
  const std::string titles = columns("self", "self%", "total", "total%");
  std::string text = '\n' + titles + std::string(title) + '\n';
  for (const TopRow& row : rows) {
    const std::string binary =
        flame::BinaryText(row.binary.substr(row.binary.rfind('/') + 1), row.file);
    const std::string plain = row.name.empty() ? std::string(without) : Printable(row.name);
    const int64_t self = about.Shown(row.self), total = about.Shown(row.total);
    text += columns(format.Text(self), flame::PercentText(self, all), format.Text(total),
                    flame::PercentText(total, all));
    text += flame::FitName(plain, width_columns, titles.size() + flame::CountCharacters(binary)) +
            binary + '\n';
  }
  return text;
}

std::string Text(const TopAnswer& answer, size_t width_columns) {
  const std::string_view title = answer.by == TopBy::kFunction ? "function [binary]"
                                 : answer.by == TopBy::kFile   ? "file"
                                 : answer.by == TopBy::kBinary ? "binary"
                                                               : std::string_view(answer.label);
  const About& about = answer.about;
  const std::string_view each = answer.by == TopBy::kFunction ? "function" : "row";
  const std::string_view without = answer.by == TopBy::kFile    ? "(no file known)"
                                   : answer.by == TopBy::kLabel ? "(none)"
                                                                : "(without a name)";
  return Heading(about) + TopRowsText(about, answer.rows, title, width_columns, without) +
         BehindText(answer.rows_behind, each,
                    flame::ScaledText(about.Shown(answer.self_behind), about.unit()) + " self");
}

// The nodes with the largest totals, each below its caller, of one caller the largest first.
// Shape: node_count nodes where rows_max is 0; a node is never without those above it, since they
//        have at least its total and stand before it.
std::vector<uint32_t> LargestNodes(const flame::StackTree& tree, const std::vector<int64_t>& totals,
                                   size_t rows_max) {
  std::vector<uint32_t> order(totals.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  const auto is_larger = [&totals](uint32_t a, uint32_t b) { return totals[a] > totals[b]; };
  std::ranges::stable_sort(order, is_larger);
  if (rows_max != 0 && order.size() > rows_max) order.resize(rows_max);
  std::vector<bool> is_kept(totals.size());
  for (const uint32_t node : order) is_kept[node] = true;
  std::vector<std::vector<uint32_t>> children(totals.size());
  std::vector<uint32_t> path;  // by depth
  for (uint32_t node = 0; node < totals.size(); ++node) {
    path.resize(tree.depth[node]);
    if (is_kept[node] && !path.empty()) children[path.back()].push_back(node);
    path.push_back(node);
  }
  std::vector<uint32_t> shown, open = {0};
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    shown.push_back(node);
    std::ranges::stable_sort(children[node], is_larger);
    open.insert(open.end(), children[node].rbegin(), children[node].rend());
  }
  return shown;
}

// The functions of the tree, as a table; the rest of a cut is a row of its own.
std::string Text(const TreeAnswer& answer, size_t width_columns) {
  if (!answer.difference.empty()) {
    flame::DiffTable table = answer.difference[0];
    for (size_t side = 0; side < 2; ++side)
      table.sides[side].name =
          answer.about.selectors[side] + ", " + RangeText(answer.about.plan.ranges[side]);
    return flame::RenderDiffText(
        table,
        {.rows_max = answer.rows_max, .width_columns = width_columns, .notes = answer.about.notes});
  }
  std::string text = Heading(answer.about);
  text += TopRowsText(answer.about, answer.functions, "found", width_columns);
  const flame::StackTree& tree = answer.tree;
  const size_t column = tree.column(tree.value_type, 0);
  const std::vector<int64_t> totals = flame::NodeTotals(tree, column);
  const int64_t all = totals[0];
  const flame::ValueFormat format = FormatFor(answer.about, totals);
  text += '\n' + PadLeft("total", kValueColumns) + ' ' + PadLeft("total%", kPercentColumns) + ' ' +
          PadLeft("self", kValueColumns) + "  frames\n";
  const std::vector<uint32_t> shown = LargestNodes(tree, totals, answer.rows_max);
  for (const uint32_t node : shown) {
    const std::string indent(tree.depth[node], ' ');
    text += PadLeft(format.Text(totals[node]), kValueColumns) + ' ' +
            PadLeft(flame::PercentText(totals[node], all), kPercentColumns) + ' ' +
            PadLeft(format.Text(tree.self[column][node]), kValueColumns) + "  " +
            flame::FitName(indent + Printable(tree.name(tree.function[node])), width_columns,
                           2 * kValueColumns + kPercentColumns + 4) +
            '\n';
  }
  return text + BehindText(totals.size() - shown.size(), "node", "");
}

// Above a chart: when it begins and ends, as the hour, or as the day when it is longer than one.
std::string AxisText(const store::TimeRange& range, size_t columns) {
  constexpr size_t kTimeOffset = 11, kDayOffset = 5, kBytes = 5;  // of 2026-11-30T13:00:00Z
  const std::string from = UnixMsText(range.from_unix_ms), to = UnixMsText(range.to_unix_ms);
  const size_t offset =
      range.to_unix_ms - range.from_unix_ms > base::kDayMs ? kDayOffset : kTimeOffset;
  if (columns < 2 * kBytes + 1 || from.size() < kTimeOffset + kBytes ||
      to.size() < kTimeOffset + kBytes) {
    return std::string(columns, ' ');
  }
  return from.substr(offset, kBytes) + std::string(columns - 2 * kBytes, ' ') +
         to.substr(offset, kBytes);
}

// "1.4, server": what the row stands for; the title has the names of the labels.
std::string ValuesText(const SeriesRow& row) {
  std::string text;
  for (size_t i = 0; i < row.values.size(); ++i)
    text += (i == 0 ? "" : ", ") + (row.values[i].empty() ? "(none)" : Printable(row.values[i]));
  return text.empty() ? "all" : text;
}

// A line per row, with a chart whose height is the row's own largest column, which stands before
// it.
std::string Text(const SeriesAnswer& answer, size_t width_columns) {
  const About& about = answer.about;
  if (answer.rows.empty()) return Heading(about);
  std::string title;
  for (const std::string& label : about.plan.by)
    title += (title.empty() ? "" : ", ") + Printable(label);
  std::vector<std::pair<std::string, const SeriesRow*>> lines;
  for (const SeriesRow& row : answer.rows) lines.emplace_back(ValuesText(row), &row);
  if (answer.rows_behind != 0)
    lines.emplace_back("... " + std::to_string(answer.rows_behind) + " more", &answer.rest);
  size_t name_columns = flame::CountCharacters(title);
  for (const auto& [name, row] : lines)
    name_columns = std::max(name_columns, flame::CountCharacters(name));
  const size_t width = width_columns == 0 ? kChartWidthColumns : width_columns;
  const size_t figures = 2 * kValueColumns + 1;
  const size_t spare = width > figures + 4 ? width - figures - 4 : 0;
  const size_t chart_columns =
      std::max(spare - std::min(spare, name_columns), std::max(spare / 2, kChartColumnsMin));
  const ChartScale scale = FitChart(answer.step_count, chart_columns);
  std::vector<std::vector<int64_t>> sums;
  std::vector<int64_t> values;
  for (const auto& [name, row] : lines) {
    sums.push_back(ColumnSums(about, *row, scale));
    values.push_back(about.Shown(row->total));
    values.push_back(*std::max_element(sums.back().begin(), sums.back().end()));
  }
  const flame::ValueFormat format = FormatFor(about, values);
  std::string text = Heading(about) + "each column of the chart is " +
                     DurationText(static_cast<int64_t>(scale.steps_per_column) * answer.step_ms) +
                     "\n\n" + PadLeft("total", kValueColumns) + ' ' +
                     PadLeft("peak", kValueColumns) + "  " +
                     AxisText(about.plan.ranges[0], scale.columns) + "  " +
                     flame::FitName(title, width_columns, figures + 4 + scale.columns) + '\n';
  for (size_t i = 0; i < lines.size(); ++i) {
    const int64_t most = values[2 * i + 1];
    text += PadLeft(format.Text(values[2 * i]), kValueColumns) + ' ' +
            PadLeft(format.Text(most), kValueColumns) + "  " + ChartText(sums[i], most) + "  " +
            flame::FitName(lines[i].first, width_columns, figures + 4 + scale.columns) + '\n';
  }
  return text;
}

std::string Text(const LabelsAnswer& answer, size_t) {
  std::string text = Heading(answer.about) + '\n' + PadLeft("values", kCountColumns) + ' ' +
                     PadLeft("series", kCountColumns) + "  label\n";
  for (const LabelRow& row : answer.rows) {
    text += PadLeft(std::to_string(row.values), kCountColumns) + ' ' +
            PadLeft(std::to_string(row.series), kCountColumns) + "  " + Printable(row.name) + '\n';
  }
  return text + BehindText(answer.rows_behind, "label", "");
}

// The columns of a table of values: types that differ in their period only share one, types of one
// name have their unit in the title.
struct ValueColumn {
  std::string title;
  std::vector<size_t> types;
};

std::vector<ValueColumn> ColumnsOf(const std::vector<store::ProfileType>& types) {
  std::map<std::pair<std::string, std::string>, size_t> column_of;
  std::vector<ValueColumn> columns;
  for (size_t i = 0; i < types.size(); ++i) {
    const auto [known, is_new] =
        column_of.try_emplace({types[i].type, types[i].unit}, columns.size());
    if (is_new) columns.push_back({Printable(types[i].type), {}});
    columns[known->second].types.push_back(i);
  }
  for (ValueColumn& column : columns) {
    const store::ProfileType& first = types[column.types[0]];
    const bool is_shared = std::ranges::any_of(types, [&first](const store::ProfileType& type) {
      return type.type == first.type && type.unit != first.unit;
    });
    if (is_shared) column.title += ':' + Printable(first.unit);
  }
  return columns;
}

std::string Text(const ValuesAnswer& answer, size_t width_columns) {
  const std::vector<ValueColumn> columns = ColumnsOf(answer.types);
  std::string text = Heading(answer.about) + '\n' + PadLeft("series", kCountColumns);
  size_t used = kCountColumns + 2;
  const auto wide = [](const ValueColumn& column) {
    return std::max(flame::CountCharacters(column.title), kValueColumns);
  };
  for (const ValueColumn& column : columns) {
    text += ' ' + PadLeft(column.title, wide(column));
    used += wide(column) + 1;
  }
  const auto sum_text = [&](const std::vector<ValueCount>& sums, const ValueColumn& column) {
    int64_t sum = 0;
    for (const size_t type : column.types) sum = profile::AddSaturating(sum, sums[type].value);
    return flame::ScaledText(sum, answer.types[column.types[0]].unit);
  };
  text += "  " + Printable(answer.label) + '\n';
  for (const ValueRow& row : answer.rows) {
    text += PadLeft(std::to_string(row.series), kCountColumns);
    for (const ValueColumn& column : columns)
      text += ' ' + PadLeft(sum_text(row.sums, column), wide(column));
    text +=
        "  " +
        flame::FitName(row.value.empty() ? "(none)" : Printable(row.value), width_columns, used) +
        '\n';
  }
  std::string behind;
  for (const ValueColumn& column : columns)
    behind += (behind.empty() ? "" : ", ") + sum_text(answer.sums_behind, column);
  return text + BehindText(answer.rows_behind, "value", behind);
}

std::string Text(const TypesAnswer& answer, size_t) {
  std::string text = Heading(answer.about) + '\n' + PadLeft("series", kCountColumns) + ' ' +
                     PadLeft("total", kValueColumns) + "  type\n";
  for (const TypeRow& row : answer.rows) {
    text += PadLeft(std::to_string(row.series), kCountColumns) + ' ' +
            PadLeft(flame::ScaledText(row.total.value, row.type.unit), kValueColumns) + "  " +
            Printable(row.type.type) + ':' + Printable(row.type.unit) +
            (row.type.count_type.empty() ? "" : " (" + Printable(row.type.count_type) + ')') + '\n';
  }
  return text;
}

std::string Text(const LinesAnswer& answer, size_t width_columns) {
  const About& about = answer.about;
  std::string text = Heading(about) + TopRowsText(about, answer.functions, "found", width_columns);
  std::vector<TopRow> rows;
  for (const LineRow& row : answer.rows) {
    rows.push_back({row.file.substr(row.file.rfind('/') + 1) + ':' + std::to_string(row.line) +
                        ' ' + row.function,
                    row.binary, "", row.self, row.total});
  }
  return text + TopRowsText(about, rows, "line function [binary]", width_columns) +
         BehindText(answer.rows_behind, "line",
                    flame::ScaledText(about.Shown(answer.self_behind), about.unit()) + " self");
}

std::string Text(const ProfileAnswer& answer, size_t) {
  return Heading(answer.about) + std::to_string(answer.profile.sample_count()) + " rows\n";
}

}  // namespace

std::string AnswerText(const Answer& answer, size_t width_columns) {
  return std::visit([&](const auto& one) { return Text(one, width_columns); }, answer);
}

std::string TitleOf(const About& about, const Request& request) {
  std::string title;
  if (request.question == Question::kCallers || request.question == Question::kCallees) {
    const std::string function =
        request.function_is_pattern ? '/' + request.function + '/' : request.function;
    title = request.question == Question::kCallers ? "callers of " + function + ", "
                                                   : "what " + function + " calls, ";
  }
  const auto& ranges = about.plan.ranges;
  for (size_t side = 0; side < ranges.size(); ++side) {
    Selector selector = request.selectors[side];
    selector.range.reset();  // it follows, as a time
    if (selector.type.empty()) selector.type = about.type_name();
    title += (side == 0 ? "" : " → ") + SelectorText(selector);
    if (side + 1 == ranges.size() || ranges[side] != ranges[side + 1])
      title += ", " + RangeText(ranges[side]);
  }
  return title;
}

const About& AboutOf(const Answer& answer) {
  return std::visit([](const auto& one) -> const About& { return one.about; }, answer);
}

const std::string& About::type_name() const {
  return plan.type.shows_count ? plan.type.type.count_type : plan.type.type.type;
}

const std::string& About::unit() const {
  static const std::string count = "count";
  return plan.type.shows_count ? count : plan.type.type.unit;
}

int64_t About::Shown(const ValueCount& sum) const {
  return plan.type.shows_count ? sum.count : sum.value;
}

}  // namespace vesta::query
