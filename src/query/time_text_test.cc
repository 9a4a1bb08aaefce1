#include "src/query/time_text.h"

#include <gtest/gtest.h>

namespace vesta::query {
namespace {

// 2026-11-30T06:40:21.500Z
constexpr int64_t kNow = 1'796'020'821'500;

TEST(TimeTextTest, ReadsTimesAsPeopleTypeThem) {
  const std::pair<std::string_view, int64_t> cases[] = {
      {"now", kNow},
      {"-5m", kNow - 300'000},
      {"-1h30m", kNow - 5'400'000},
      {"now-90s", kNow - 90'000},
      {"+10s", kNow + 10'000},
      {"-1w2d", kNow - 9 * 86'400'000LL},
      {"-250ms", kNow - 250},
      {"2026-11-30", kNow - 24'021'500},
      {"14:02", kNow - 24'021'500 + 50'520'000},
      {"24:00", kNow - 24'021'500 + 86'400'000},
      {"today", kNow - 24'021'500},
      {"today 14:02", kNow - 24'021'500 + 50'520'000},
      {"yesterday", kNow - 24'021'500 - 86'400'000},
      {"yesterday 14:02", kNow - 24'021'500 - 86'400'000 + 50'520'000},
      {"yesterday@14:02:03.25", kNow - 24'021'500 - 86'400'000 + 50'523'250},
      {"-1d@14:02", kNow - 24'021'500 - 86'400'000 + 50'520'000},
      {"-3d 24:00", kNow - 24'021'500 - 2 * 86'400'000LL},
      {"-10d 00:00", kNow - 24'021'500 - 10 * 86'400'000LL},
      {"-0d 14:02", kNow - 24'021'500 + 50'520'000},
      {"14:02:03.25", kNow - 24'021'500 + 50'523'250},
      {"2026-11-30T06:40:21.5Z", kNow},
      {"2026-11-30t06:40:21.500z", kNow},
      {"2026-11-30 06:40:21.5", kNow},
      {"2026-11-30T07:40:21.5+01:00", kNow},
      {"2026-11-29T23:10:21.5-07:30", kNow},
      {"1796020821.5", kNow},
      {"1796020821500", kNow},
      {"0", 0},
      {"2024-02-29", 1'709'164'800'000},
      {"1969-12-31", -86'400'000},
  };
  for (const auto& [text, expected] : cases) {
    const auto time = ParseTime(text);
    ASSERT_TRUE(time.ok()) << text << ": " << time.error().message();
    EXPECT_EQ(time->UnixMs(kNow), expected) << text;
    const auto again = ParseTime(TimePointText(*time));
    ASSERT_TRUE(again.ok()) << TimePointText(*time);
    EXPECT_EQ(again->UnixMs(kNow), expected) << TimePointText(*time);
  }
}

TEST(TimeTextTest, RefusesWhatIsNoTime) {
  for (const std::string_view text : {"",
                                      "-",
                                      "5m",
                                      "now5m",
                                      "-5",
                                      "-5x",
                                      "-5m3",
                                      "24:00:00.001",
                                      "25:00",
                                      "yesterday-5m",
                                      "yesterday 14",
                                      "yesterdays",
                                      "-1d ",
                                      "-1h 14:02",
                                      "-9999999999999999d 14:02",
                                      "14:60",
                                      "14",
                                      "14:2",
                                      "2026-13-01",
                                      "2026-02-30",
                                      "2026-11-30T",
                                      "2026-11-30T14:02+1:00",
                                      "now-14:02",
                                      "1796020821500.5",
                                      "99999999999999999999",
                                      "-99999999999w",
                                      "1e5"}) {
    const auto time = ParseTime(text);
    if (text == "14") {
      EXPECT_TRUE(time.ok()) << "14 seconds after 1970 began";
      continue;
    }
    EXPECT_FALSE(time.ok()) << text;
  }
}

TEST(TimeTextTest, ALengthWithoutASignIsToldWhatItMayMean) {
  EXPECT_EQ(ParseTime("5m").error().message(),
            "\"5m\" is no time: so long ago is -5m, so far ahead +5m");
}

TEST(TimeTextTest, ARangeForAHeadingIsInWholeSeconds) {
  EXPECT_EQ(RangeText({kNow, kNow + 1'000}), "2026-11-30T06:40:21Z to 2026-11-30T06:40:22Z");
  EXPECT_EQ(RangeText({-500, 0}), "1969-12-31T23:59:59Z to 1970-01-01T00:00:00Z");
  const int64_t year_110 = -58'683'973'764'520;
  EXPECT_EQ(RangeText({year_110, 0}).substr(0, 20), "0110-05-19T08:10:35Z");
}

TEST(TimeTextTest, PrintsDates) {
  EXPECT_EQ(UnixMsText(kNow), "2026-11-30T06:40:21.500Z");
  EXPECT_EQ(UnixMsText(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(UnixMsText(253'402'300'799'000), "9999-12-31T23:59:59Z");
  EXPECT_EQ(UnixMsText(253'402'300'800'000), "253402300800000");
  EXPECT_EQ(DurationText(5'400'000), "1h30m");
  EXPECT_EQ(*ParseDurationMs("1h30m"), 5'400'000);
  for (const std::string_view text : {"", "0s", "-5m", "5", "m"})
    EXPECT_FALSE(ParseDurationMs(text).ok()) << text;
}

TEST(TimeTextTest, ARangeHasItsStartBeforeItsEnd) {
  EXPECT_FALSE(ResolveRange({{}, {}}, kNow).ok());
  const auto range = ResolveRange({{TimePoint::Kind::kBeforeNow, 60'000}, {}}, kNow);
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(*range, (store::TimeRange{kNow - 60'000, kNow}));
}

}  // namespace
}  // namespace vesta::query
