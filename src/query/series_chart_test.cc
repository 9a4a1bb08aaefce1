#include "src/query/series_chart.h"

#include <gtest/gtest.h>

namespace vesta::query {
namespace {

TEST(SeriesChart, AColumnIsAWholeNumberOfSteps) {
  EXPECT_EQ(FitChart(60, 60).steps_per_column, 1u);
  EXPECT_EQ(FitChart(60, 100).columns, 60u);
  EXPECT_EQ(FitChart(61, 60).steps_per_column, 2u);
  EXPECT_EQ(FitChart(61, 60).columns, 31u);
  EXPECT_EQ(FitChart(240, 38).steps_per_column, 7u);
  EXPECT_EQ(FitChart(240, 38).columns, 35u);
  EXPECT_EQ(FitChart(0, 10).columns, 0u);
}

TEST(SeriesChart, StepsOfAColumnAreAddedUp) {
  SeriesRow row;
  row.cells = {{0, {1, 0}}, {1, {2, 0}}, {5, {4, 0}}, {99, {8, 0}}};
  EXPECT_EQ(ColumnSums({}, row, FitChart(6, 3)), (std::vector<int64_t>{3, 0, 4}));
}

TEST(SeriesChart, LittleIsToldFromNothing) {
  EXPECT_EQ(ChartText({0, 1, 500, 1000}, 1000), " ▁▅█");
  EXPECT_EQ(ChartText({0, 0}, 0), "  ");
  EXPECT_EQ(ChartText({}, 5), "");
}

}  // namespace
}  // namespace vesta::query
