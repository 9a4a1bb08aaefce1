#include "src/store/disk/retention.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

#include "src/store/disk/day.h"

namespace vesta::store {
namespace {

using What = RetentionStep::What;
using Why = RetentionStep::Why;
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

std::vector<RetentionStep> Steps(const std::vector<RetentionVolume>& volumes,
                                 const DiskSpace& space, const RetentionLimits& limits,
                                 uint64_t aside_bytes = 0) {
  return PlanRetention(volumes, aside_bytes, kNow, space, limits).steps;
}

TEST(Retention, NothingGoesWithinTheLimits) {
  EXPECT_TRUE(Steps(Week(), kRoomy, Limits(30, 770)).empty());
}

TEST(Retention, DaysThatAreOverBeforeTheAgeGoWhole) {
  const auto steps = Steps(Week(), kRoomy, Limits(4, 10'000));
  // Now is noon: 4 days ago is within day -4, which stays.
  EXPECT_EQ(steps, (std::vector<RetentionStep>{{What::kWhole, 6, Why::kAge},
                                               {What::kWhole, 5, Why::kAge}}));
}

TEST(Retention, EvenOpenDaysGoByAge) {
  const std::vector<RetentionVolume> volumes = {{kToday - 9, 1, true, 100, 10}};
  EXPECT_EQ(Steps(volumes, kRoomy, Limits(4, 10'000)).size(), 1u);
}

TEST(Retention, RawRowsOfTheOldestDaysGoFirstByBytes) {
  EXPECT_EQ(Steps(Week(), kRoomy, Limits(30, 600)),
            (std::vector<RetentionStep>{{What::kRawRows, 6, Why::kBytes},
                                        {What::kRawRows, 5, Why::kBytes}}));
}

TEST(Retention, WholeVolumesGoWhenNoRawRowsAreLeft) {
  const auto steps = Steps(Week(), kRoomy, Limits(30, 160));
  ASSERT_EQ(steps.size(), 7u);
  EXPECT_EQ(steps[5], (RetentionStep{What::kRawRows, 1, Why::kBytes}));
  EXPECT_EQ(steps[6], (RetentionStep{What::kWhole, 6, Why::kBytes}));
}

TEST(Retention, TheOpenDayStaysWhateverItsSize) {
  const auto steps = Steps(Week(), kRoomy, Limits(30, 1));
  EXPECT_EQ(steps.size(), 12u);  // each of six days: raw rows, then the rest
  for (const RetentionStep& step : steps) EXPECT_NE(step.volume, 0u);
}

TEST(Retention, AFullDiskTakesRawRowsOnly) {
  const DiskSpace space{1'000, 50};  // 950 used, 850 allowed
  EXPECT_EQ(Steps(Week(), space, Limits(30, 10'000)),
            (std::vector<RetentionStep>{{What::kRawRows, 6, Why::kFullDisk}}));
  const DiskSpace fuller{10'000, 901};  // 9,099 used, 8,500 allowed: 599 of 600 raw
  const auto steps = Steps(Week(), fuller, Limits(30, 10'000));
  EXPECT_EQ(steps.size(), 6u);
  for (const RetentionStep& step : steps) EXPECT_EQ(step.what, What::kRawRows);
}

TEST(Retention, ADiskThatOthersFillTakesNothing) {
  const DiskSpace space{10'000, 899};  // 9,101 used, 8,500 allowed: all raw rows have 600
  const RetentionPlan plan = PlanRetention(Week(), 0, kNow, space, Limits(30, 10'000));
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_TRUE(plan.is_full_by_others);
  // What age and bytes take counts: then the rest helps.
  const RetentionPlan aged = PlanRetention(Week(), 0, kNow, space, Limits(4, 10'000));
  EXPECT_EQ(aged.steps.size(), 6u);
  EXPECT_FALSE(aged.is_full_by_others);
  EXPECT_FALSE(PlanRetention(Week(), 0, kNow, kRoomy, Limits(30, 10'000)).is_full_by_others);
}

TEST(Retention, WhatWasSetAsideCountsAsBytes) {
  EXPECT_TRUE(Steps(Week(), kRoomy, Limits(30, 820), 50).empty());
  EXPECT_EQ(Steps(Week(), kRoomy, Limits(30, 820), 51),
            (std::vector<RetentionStep>{{What::kRawRows, 6, Why::kBytes}}));
}

TEST(Retention, AsidesGoByAgeAndBytesButTheNewestStays) {
  const std::vector<AsideFile> files = {
      {kToday, 50, 3}, {kToday - 9, 10, 4}, {std::nullopt, 30, 1}, {kToday - 1, 40, 2}};
  using Gone = std::vector<size_t>;
  EXPECT_EQ(AsidesToRemove(files, kNow, Limits(30, 1'300)), Gone{});
  EXPECT_EQ(AsidesToRemove(files, kNow, Limits(30, 1'290)), Gone{2});
  EXPECT_EQ(AsidesToRemove(files, kNow, Limits(4, 1'300)), Gone{1});
  EXPECT_EQ(AsidesToRemove(files, kNow, Limits(30, 0)), (Gone{2, 3, 0}));
  EXPECT_EQ(AsidesToRemove({}, kNow, Limits(30, 0)), Gone{});
}

constexpr int64_t kHourMs = 3'600'000;

TEST(AgeClock, IsTheClockAsLongAsThatRunsEvenly) {
  AgeClock clock;
  EXPECT_EQ(clock.Time(kNow, 0, kNow - 10), kNow);
  EXPECT_EQ(clock.Time(kNow + 5'000, 5'000, 0), kNow + 5'000);
  // Asleep for a week: both clocks saw it.
  EXPECT_EQ(clock.Time(kNow + 7 * kDayMs, 7 * kDayMs, 0), kNow + 7 * kDayMs);
}

TEST(AgeClock, AStartFarAheadOfAllRowsIsDoubtedForAnHour) {
  AgeClock clock;
  const int64_t far = kNow + 4'000 * kDayMs;
  EXPECT_EQ(clock.Time(far, 0, kNow), kNow + kDayMs);
  // Rows that came with the same clock prove nothing.
  EXPECT_EQ(clock.Time(far + kHourMs - 1, kHourMs - 1, far), kNow + kDayMs);
  EXPECT_EQ(clock.Time(far + kHourMs, kHourMs, far), far + kHourMs);
}

TEST(AgeClock, AJumpIsDoubtedForAnHourAndForgottenWhenItIsUndone) {
  AgeClock clock;
  ASSERT_EQ(clock.Time(kNow, 0, kNow), kNow);
  int64_t steady = 2 * kHourMs;
  const int64_t before = kNow + steady;
  ASSERT_EQ(clock.Time(before, steady, 0), before);
  const int64_t far = 4'000 * kDayMs;
  steady += 1'000;
  EXPECT_EQ(clock.Time(before + far, steady, 0), before + kDayMs);
  // Jumps on jumps gain nothing.
  steady += 1'000;
  EXPECT_EQ(clock.Time(before + 2 * far, steady, 0), before + kDayMs);
  steady += 1'000;
  EXPECT_EQ(clock.Time(before + 3'000, steady, 0), before + 3'000);
  steady += kHourMs;
  EXPECT_EQ(clock.Time(before + far, steady, 0), before + kDayMs);
}

TEST(AgeClock, SmallCorrectionsAreNoJump) {
  AgeClock clock;
  int64_t steady = 0;
  int64_t now = kNow;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(clock.Time(now, steady, kNow), now);
    steady += kHourMs;
    now += kHourMs + 60'000;
  }
}

TEST(AgeClock, AStoreWithoutRowsHasNoAge) {
  AgeClock clock;
  EXPECT_EQ(
      OldestKeptUnixMs(clock.Time(kNow, 0, std::numeric_limits<int64_t>::min()), Limits(4, 0)), 0);
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
