#include "src/base/calendar.h"

#include <gtest/gtest.h>

namespace vesta::base {
namespace {

TEST(Calendar, DivisionRoundsDown) {
  for (const int64_t value : {-61, -60, -59, -1, 0, 1, 59, 60, 61}) {
    EXPECT_EQ(FloorDivide(value, 60) * 60 + FloorRemainder(value, 60), value);
    EXPECT_GE(FloorRemainder(value, 60), 0);
    EXPECT_LT(FloorRemainder(value, 60), 60);
  }
  EXPECT_EQ(FloorDivide(-1, 60), -1);
  EXPECT_EQ(FloorDivide(-60, 60), -1);
  EXPECT_EQ(FloorDivide(INT64_MIN, kDayMs), INT64_MIN / kDayMs - 1);
}

TEST(Calendar, DaysAreThoseOfTheCalendar) {
  EXPECT_EQ(DaysOf({1970, 1, 1}), 0);
  EXPECT_EQ(DaysOf({1969, 12, 31}), -1);
  EXPECT_EQ(DaysOf({2000, 2, 29}), 11'016);  // date -u -d 2000-02-29 +%s, by 86,400
  EXPECT_EQ(DaysOf({2026, 11, 30}), 20'787);
  EXPECT_EQ(DaysOf({0, 1, 1}), -719'528);
  EXPECT_EQ(DaysOf({2023, 2, 29}), DaysOf({2023, 3, 1}));
}

// Day by day over more than one cycle of 400 years, by the rules of the calendar alone.
TEST(Calendar, EveryDayHasTheDateBehindTheOneBefore) {
  const auto days_in = [](const Date& date) {
    const bool is_leap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);
    constexpr int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return kDays[date.month - 1] + (date.month == 2 && is_leap ? 1 : 0);
  };
  Date expected{-1, 1, 1};
  for (int64_t day = DaysOf(expected); expected.year < 2110; ++day) {
    ASSERT_EQ(DateOf(day), expected) << DateText(expected);
    ASSERT_EQ(DaysOf(expected), day) << DateText(expected);
    if (expected.day++ == days_in(expected)) expected = {expected.year, expected.month + 1, 1};
    if (expected.month > 12) expected = {expected.year + 1, 1, 1};
  }
}

TEST(Calendar, DatesAreWrittenWithAllDigits) {
  EXPECT_EQ(DateText({2026, 11, 30}), "2026-11-30");
  EXPECT_EQ(DateText({7, 1, 2}), "0007-01-02");
}

}  // namespace
}  // namespace vesta::base
