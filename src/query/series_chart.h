// Values over time as one line of block characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/query/answer.h"

namespace vesta::query {

// How a chart of steps fits into a terminal: a column is a whole number of steps.
struct ChartScale {
  uint64_t steps_per_column = 1;
  size_t columns = 0;
};
// Shape: at most columns_max > 0 columns.
ChartScale FitChart(uint64_t step_count, size_t columns_max);

// A column's sum; saturates.
std::vector<int64_t> ColumnSums(const About& about, const SeriesRow& row, const ChartScale& scale);

// A character per column, from ▁ to █ of `most`; a blank where there is nothing, so that little is
// told from none.
std::string ChartText(const std::vector<int64_t>& sums, int64_t most);

}  // namespace vesta::query
