#include "src/store/disk/back_off.h"

#include <gtest/gtest.h>

namespace vesta::store {
namespace {

const Step kClose = {{20'000, 1}, "close"};
const Step kVerifyA = {{20'000, 1}, "verify", "a"};
const Step kVerifyB = {{20'000, 2}, "verify", "b"};
const base::Error kFull(base::ErrorCode::kUnavailable, "the disk is full");
const base::Error kDamaged(base::ErrorCode::kCorrupt, "a: damaged");

TEST(BackOff, WaitsEverLongerUpToFiveMinutes) {
  BackOff back_off;
  int64_t now = 1'000'000;
  EXPECT_TRUE(back_off.IsDue(kClose, now));
  for (const int64_t seconds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    (void)back_off.Fail(kClose, kFull, now);
    EXPECT_FALSE(back_off.IsDue(kClose, now + seconds * 1'000 - 1));
    now += seconds * 1'000;
    EXPECT_TRUE(back_off.IsDue(kClose, now));
  }
  back_off.Succeed(kClose);
  (void)back_off.Fail(kClose, kFull, now);
  EXPECT_TRUE(back_off.IsDue(kClose, now + 1'000));
}

TEST(BackOff, OneStepDoesNotHoldUpAnother) {
  BackOff back_off;
  (void)back_off.Fail(kVerifyA, kFull, 0);
  EXPECT_FALSE(back_off.IsDue(kVerifyA, 0));
  EXPECT_TRUE(back_off.IsDue(kVerifyB, 0));
  EXPECT_TRUE(back_off.IsDue(kClose, 0));
  back_off.Forget(kVerifyA.volume);
  EXPECT_TRUE(back_off.IsDue(kVerifyA, 0));
}

TEST(BackOff, AClockThatGoesBackwardKeepsNothingWaiting) {
  BackOff back_off;
  (void)back_off.Fail(kClose, kFull, 1'000'000);
  EXPECT_TRUE(back_off.IsDue(kClose, 999'999));
}

TEST(BackOff, ATroubleIsToldOnce) {
  BackOff back_off;
  EXPECT_TRUE(back_off.Fail(kClose, kDamaged, 0));
  EXPECT_FALSE(back_off.Fail(kClose, kDamaged, 1'000));
  EXPECT_TRUE(back_off.Fail(kClose, base::Error(base::ErrorCode::kCorrupt, "b: damaged"), 2'000));
  back_off.Succeed(kClose);
  EXPECT_TRUE(back_off.Fail(kClose, kDamaged, 3'000));
}

TEST(BackOff, WhatStopsManyFilesIsToldOnceButEachDamageIs) {
  BackOff back_off;
  const base::Error a(base::ErrorCode::kExhausted, "opening a: Too many open files");
  const base::Error b(base::ErrorCode::kExhausted, "opening b: Too many open files");
  EXPECT_TRUE(back_off.Fail(kVerifyA, a, 0));
  EXPECT_FALSE(back_off.Fail(kVerifyB, b, 0));
  EXPECT_TRUE(back_off.Fail(kClose, b, 0));  // another thing is stopped
  BackOff other;
  EXPECT_TRUE(other.Fail(kVerifyA, kDamaged, 0));
  EXPECT_TRUE(other.Fail(kVerifyB, base::Error(base::ErrorCode::kCorrupt, "b: damaged"), 0));
}

}  // namespace
}  // namespace vesta::store
