#include "src/query/series_chart.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace vesta::query {
namespace {

constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

}  // namespace

ChartScale FitChart(uint64_t step_count, size_t columns_max) {
  ChartScale scale;
  scale.steps_per_column = std::max<uint64_t>((step_count + columns_max - 1) / columns_max, 1);
  scale.columns =
      static_cast<size_t>((step_count + scale.steps_per_column - 1) / scale.steps_per_column);
  return scale;
}

std::vector<int64_t> ColumnSums(const About& about, const SeriesRow& row, const ChartScale& scale) {
  std::vector<int64_t> sums(scale.columns);
  for (const SeriesCell& cell : row.cells) {
    const size_t column = static_cast<size_t>(cell.step / scale.steps_per_column);
    if (column < sums.size())
      sums[column] = profile::AddSaturating(sums[column], about.Shown(cell.sum));
  }
  return sums;
}

std::string ChartText(const std::vector<int64_t>& sums, int64_t most) {
  std::string text;
  for (const int64_t sum : sums) {
    if (sum <= 0 || most <= 0) {
      text += ' ';
      continue;
    }
    const double share = static_cast<double>(sum) / static_cast<double>(most);
    const auto block = static_cast<size_t>(share * static_cast<double>(kBlocks.size()));
    text += kBlocks[std::min(block, kBlocks.size() - 1)];
  }
  return text;
}

}  // namespace vesta::query
