#include "src/store/disk/retention.h"

#include <gtest/gtest.h>

#include "src/store/disk/day.h"

namespace vesta::store {
namespace {

using What = RetentionStep::What;
constexpr int64_t kToday = 20'000;
constexpr int64_t kNow = kToday * kDayMs + kDayMs / 2;
constexpr DiskSpace kRoomy{1'000'000, 900'000};

RetentionLimits Limits(int64_t days, uint64_t bytes) {
  RetentionLimits limits;
  limits.age_ms = days * kDayMs;
  limits.bytes_max = bytes;
  return limits;
}

std::vector<RetentionVolume> Week() {
  std::vector<RetentionVolume> volumes;
  for (int64_t day = kToday; day > kToday - 7; --day) {  // newest first: order must not matter
    volumes.push_back({day, 1, day == kToday, 100, 10});
  }
  return volumes;
}

TEST(Retention, NothingGoesWithinTheLimits) {
  EXPECT_TRUE(RetentionSteps(Week(), kNow, kRoomy, Limits(30, 770)).empty());
}

TEST(Retention, DaysThatAreOverBeforeTheAgeGoWhole) {
  const auto steps = RetentionSteps(Week(), kNow, kRoomy, Limits(4, 10'000));
  // Now is noon: 4 days ago is within day -4, which stays.
  EXPECT_EQ(steps, (std::vector<RetentionStep>{{What::kWhole, 6}, {What::kWhole, 5}}));
}

TEST(Retention, EvenOpenDaysGoByAge) {
  const std::vector<RetentionVolume> volumes = {{kToday - 9, 1, true, 100, 10}};
  EXPECT_EQ(RetentionSteps(volumes, kNow, kRoomy, Limits(4, 10'000)).size(), 1u);
}

TEST(Retention, RawRowsOfTheOldestDaysGoFirstByBytes) {
  EXPECT_EQ(RetentionSteps(Week(), kNow, kRoomy, Limits(30, 600)),
            (std::vector<RetentionStep>{{What::kRawRows, 6}, {What::kRawRows, 5}}));
}

TEST(Retention, WholeVolumesGoWhenNoRawRowsAreLeft) {
  const auto steps = RetentionSteps(Week(), kNow, kRoomy, Limits(30, 160));
  ASSERT_EQ(steps.size(), 7u);
  EXPECT_EQ(steps[5], (RetentionStep{What::kRawRows, 1}));
  EXPECT_EQ(steps[6], (RetentionStep{What::kWhole, 6}));
}

TEST(Retention, TheOpenDayStaysWhateverItsSize) {
  const auto steps = RetentionSteps(Week(), kNow, kRoomy, Limits(30, 1));
  EXPECT_EQ(steps.size(), 12u);  // each of six days: raw rows, then the rest
  for (const RetentionStep& step : steps) EXPECT_NE(step.volume, 0u);
}

TEST(Retention, AFullDiskTakesRawRowsOnly) {
  const DiskSpace space{1'000, 50};  // 950 used, 850 allowed
  EXPECT_EQ(RetentionSteps(Week(), kNow, space, Limits(30, 10'000)),
            (std::vector<RetentionStep>{{What::kRawRows, 6}}));
  const DiskSpace others{100'000, 0};  // by others: even all raw rows do not help
  const auto steps = RetentionSteps(Week(), kNow, others, Limits(30, 10'000));
  EXPECT_EQ(steps.size(), 6u);
  for (const RetentionStep& step : steps) EXPECT_EQ(step.what, What::kRawRows);
}

TEST(Retention, WritesAreRefusedBelowTheReserve) {
  RetentionLimits limits;
  limits.reserve_share = 0.05;
  limits.reserve_bytes = 30;
  EXPECT_FALSE(IsBelowReserve({1'000, 30}, limits));
  EXPECT_TRUE(IsBelowReserve({1'000, 29}, limits));
  EXPECT_FALSE(IsBelowReserve({100, 5}, limits));
  EXPECT_TRUE(IsBelowReserve({100, 4}, limits));
  EXPECT_FALSE(IsBelowReserve({0, 0}, limits));  // unknown
}

TEST(Retention, OldestKeptIsNeverBefore1970) {
  EXPECT_EQ(OldestKeptUnixMs(kNow, Limits(1, 0)), kNow - kDayMs);
  EXPECT_EQ(OldestKeptUnixMs(1'000, Limits(1, 0)), 0);
  RetentionLimits forever;
  forever.age_ms = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(OldestKeptUnixMs(kNow, forever), 0);
  EXPECT_EQ(OldestKeptUnixMs(-10, forever), 0);
}

}  // namespace
}  // namespace vesta::store
