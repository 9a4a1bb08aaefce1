#include "src/store/disk/day.h"

#include <gtest/gtest.h>

namespace vesta::store {
namespace {

TEST(Day, NamesAreThoseOfTheCalendar) {
  EXPECT_EQ(DayName(0), "1970-01-01");
  EXPECT_EQ(DayName(-1), "1969-12-31");
  EXPECT_EQ(DayName(DayOf(1'796'022'000'000)), "2026-11-30");  // date -d @1796022000 -u
  EXPECT_EQ(DayName(DayOf(951'782'400'000)), "2000-02-29");
  EXPECT_EQ(DayName(kDayMin), "0000-01-01");
  EXPECT_EQ(DayName(kDayMax), "9999-12-31");
}

TEST(Day, TimesBeforeMidnightBelongToTheDayBefore) {
  EXPECT_EQ(DayOf(0), 0);
  EXPECT_EQ(DayOf(kDayMs - 1), 0);
  EXPECT_EQ(DayOf(kDayMs), 1);
  EXPECT_EQ(DayOf(-1), -1);
  EXPECT_EQ(DayOf(-kDayMs), -1);
}

TEST(Day, EveryNameIsReadBack) {
  for (int64_t day = kDayMin; day <= kDayMax; day += 97) {
    ASSERT_EQ(ParseDayName(DayName(day)), day) << DayName(day);
  }
}

TEST(Day, OtherTextIsNoDay) {
  for (const char* text : {"", "2026-11-3", "2026-11-311", "2026-13-01", "2026-00-10", "2026-02-29",
                           "2026/11/30", "2026-11-31", "x026-11-30", "2026-11-00"}) {
    EXPECT_EQ(ParseDayName(text), std::nullopt) << text;
  }
}

TEST(Day, VolumesAreNumberedFromOne) {
  EXPECT_EQ(VolumeName(1), "v0001");
  EXPECT_EQ(VolumeName(12'345), "v12345");
  EXPECT_EQ(ParseVolumeName("v0001"), 1u);
  EXPECT_EQ(ParseVolumeName("v12345"), 12'345u);
  for (const char* text : {"", "v", "v1", "v0000", "v00001", "w0001", "v000a", "v1234567890"}) {
    EXPECT_EQ(ParseVolumeName(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace vesta::store
