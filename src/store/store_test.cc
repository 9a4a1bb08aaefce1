#include "src/store/store.h"

#include <gtest/gtest.h>

namespace vesta::store {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(WidenToMinutes, KeepsWholeMinutesAndWidensOthers) {
  EXPECT_EQ(WidenToMinutes({60'000, 180'000}), (TimeRange{60'000, 180'000}));
  EXPECT_EQ(WidenToMinutes({60'001, 180'001}), (TimeRange{60'000, 240'000}));
  EXPECT_EQ(WidenToMinutes({119'999, 120'000}), (TimeRange{60'000, 120'000}));
  EXPECT_EQ(WidenToMinutes({-1, 1}), (TimeRange{-60'000, 60'000}));
}

TEST(WidenToMinutes, KeepsTheLimitsOfInt64) {
  EXPECT_EQ(WidenToMinutes({}), TimeRange{});
  EXPECT_EQ(WidenToMinutes({kMin + 1, kMax - 1}), (TimeRange{kMin, kMax}));
}

TEST(WidenToMinutes, LeavesEmptyRangesEmpty) {
  EXPECT_EQ(WidenToMinutes({90'000, 90'000}), (TimeRange{90'000, 90'000}));
  EXPECT_EQ(WidenToMinutes({90'001, 90'000}), (TimeRange{90'001, 90'000}));
}

}  // namespace
}  // namespace vesta::store
