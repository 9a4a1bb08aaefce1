#include "src/store/read_guard.h"

#include <gtest/gtest.h>

namespace vesta::store {
namespace {

using base::ErrorCode;
using std::chrono::steady_clock;

TEST(ReadGuard, LetsReadsWithinTheirLimitsGo) {
  const ReadLimits limits;
  EXPECT_TRUE(ReadGuard(limits).Check().ok());
}

TEST(ReadGuard, SaysThatTheDeadlineIsOver) {
  ReadLimits limits;
  limits.deadline = steady_clock::now() - std::chrono::milliseconds(1);
  const auto checked = ReadGuard(limits).Check();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code(), ErrorCode::kExhausted);
  EXPECT_NE(checked.error().message().find("time limit"), std::string::npos);
}

TEST(ReadGuard, SaysThatNobodyWaits) {
  std::atomic<bool> cancelled = false;
  ReadLimits limits;
  limits.cancelled = &cancelled;
  EXPECT_TRUE(ReadGuard(limits).Check().ok());
  cancelled = true;
  ASSERT_FALSE(ReadGuard(limits).Check().ok());
  EXPECT_EQ(ReadGuard(limits).Check().error().code(), ErrorCode::kUnavailable);
}

TEST(ReadGuard, CountsMemory) {
  ReadLimits limits;
  limits.memory_bytes_max = 100;
  ReadGuard guard(limits);
  EXPECT_TRUE(guard.Take(60).ok());
  EXPECT_TRUE(guard.Take(40).ok());
  const auto beyond = guard.Take(1);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code(), ErrorCode::kExhausted);
  EXPECT_NE(beyond.error().message().find("100 bytes"), std::string::npos);
  guard.GiveBack(50);
  EXPECT_EQ(guard.used_bytes(), 50u);
  EXPECT_TRUE(guard.Take(50).ok());
  EXPECT_FALSE(guard.Take(std::numeric_limits<uint64_t>::max()).ok());
  guard.GiveBack(1000);
  EXPECT_EQ(guard.used_bytes(), 0u);
}

TEST(CheckTimeline, WantsEndsAndAStep) {
  EXPECT_TRUE(CheckTimeline({0, 1}, 1).ok());
  EXPECT_FALSE(CheckTimeline({0, 1}, 0).ok());
  EXPECT_FALSE(CheckTimeline({TimeRange{}.from_unix_ms, 1}, 1).ok());
  EXPECT_FALSE(CheckTimeline({0, TimeRange{}.to_unix_ms}, 1).ok());
}

}  // namespace
}  // namespace vesta::store
