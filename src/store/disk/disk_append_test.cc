// Appends that meet each other, the maintenance, and many days.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "src/store/disk/store_fixture.h"

extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libduckdb.so\nmutex:libduckdb.so\ndeadlock:libduckdb.so\nthread:libduckdb.so\n";
}

namespace vesta::store {
namespace {

using std::chrono::milliseconds;

// Lets a step of the store wait.
class Gate {
 public:
  // For the step hook.
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    --waiting_;
  }
  void AwaitWaiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }
  void Set(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int waiting_ = 0;
};

class DiskAppendTest : public DiskStoreTest {
 protected:
  void AwaitOpenVolumes(uint64_t count) const {
    while (store_->disk_status().open_volumes < count) std::this_thread::sleep_for(milliseconds(1));
  }
  std::future<AppendOutcome> AppendAside(const TestBatch& batch) {
    return std::async(std::launch::async, [this, &batch] { return Append(batch); });
  }
};

TEST_F(DiskAppendTest, TwoCopiesOfABatchCountOnceAlthoughTheirVolumeIsClosedBetweenThem) {
  Gate gate;
  options_.step_hook = [&gate](std::string_view step) {
    if (step == "commit") gate.Pass();
  };
  Open();
  TestBatch first;
  TestBatch batch;
  first.Rows(1, now_);
  batch.Id(7).Rows(10, now_);
  // While the writer is held up by another batch, one copy is under way to the day's volume, which
  // is closed then, and the other one to the volume that is opened after it: one group has both.
  gate.Set(false);
  auto before = AppendAside(first);
  gate.AwaitWaiting();
  auto copy = AppendAside(batch);
  std::this_thread::sleep_for(milliseconds(100));
  auto settled = std::async(std::launch::async, [this] { return store_->Settle().ok(); });
  std::this_thread::sleep_for(milliseconds(100));
  auto other = AppendAside(batch);
  AwaitOpenVolumes(2);
  std::this_thread::sleep_for(milliseconds(100));
  gate.Set(true);
  EXPECT_EQ(before.get().rows_kept, 1u);
  EXPECT_EQ(copy.get().rows_kept + other.get().rows_kept, 10u);
  EXPECT_TRUE(settled.get());
  EXPECT_EQ(RowCount(), 11);
  EXPECT_EQ(store_->Status().book.rows_duplicate, 10u);
  ExpectBalance();
}

TEST_F(DiskAppendTest, WhatSealingMakesNoRoomForIsRefused) {
  Gate gate;
  options_.step_hook = [&gate](std::string_view step) {
    if (step == "seal rows") gate.Pass();
  };
  options_.part_rows_max = 100;
  options_.maintenance_period_ms = 1;
  options_.room_wait_ms = 50;
  Open();
  gate.Set(false);
  Append(TestBatch().Rows(150, now_));
  gate.AwaitWaiting();
  Append(TestBatch().Rows(50, now_));  // just what is left
  const auto refused = store_->Append(TestBatch().Rows(1, now_).get());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message().find("sealed"), std::string::npos);
  gate.Set(true);
  while (store_->disk_status().open_rows > 100) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(Append(TestBatch().Rows(1, now_)).rows_kept, 1u);
  EXPECT_EQ(Append(TestBatch().Rows(1'000, now_)).rows_kept, 1'000u);  // larger than all the room
  EXPECT_EQ(RowCount(), 1'201);
  ExpectBalance();
}

TEST_F(DiskAppendTest, WhatCannotBeClosedIsNotWaitedForAndTheRefusalSaysWhy) {
  std::atomic<uint64_t> free_bytes{(uint64_t{1} << 30) + 1000};  // just above the reserve
  options_.disk_space = [&free_bytes](const std::string&) -> base::Result<DiskSpace> {
    return DiskSpace{100'000'000'000, free_bytes};
  };
  options_.retention.disk_full_share = 1;
  options_.open_volumes_max = 1;
  options_.maintenance_period_ms = 1;
  options_.room_wait_ms = 600'000;
  Open();
  base::Result<AppendOutcome> last = AppendOutcome{};
  for (int64_t day = 0; day < 8 && last.ok(); ++day)
    last = store_->Append(TestBatch().Rows(10, now_ - day * kDayMs).get());
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_NE(last.error().message().find("closing 20"), std::string::npos) << last.error().message();
  free_bytes = 90'000'000'000;
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(Append(TestBatch().Rows(10, now_ - 20 * kDayMs)).rows_kept, 10u);
  ExpectBalance();
}

TEST_F(DiskAppendTest, ABatchIsNotCountedWhileItsDaysLedgerCannotBeRead) {
  Open();
  TestBatch batch;
  batch.Id(7).Rows(10, now_ - kDayMs);
  Append(batch);
  ASSERT_TRUE(store_->Settle().ok());
  ASSERT_TRUE(store_->Maintain().ok());  // forgets what it can read again
  Append(TestBatch().Id(8).Rows(10, now_ - kDayMs));
  {
    const NoDescriptors none;
    const auto refused = store_->Append(batch.get());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable);
  }
  EXPECT_EQ(Append(batch).rows_duplicate, 10u);
  EXPECT_EQ(RowCount(), 20);
  EXPECT_TRUE(notices_.empty());
  ExpectBalance();
}

TEST_F(DiskAppendTest, NobodyWaitsWhileTheStateIsWritten) {
  Gate gate;
  options_.step_hook = [&gate](std::string_view step) {
    if (step == "state") gate.Pass();
  };
  Open();
  TestBatch batch;
  batch.Id(1).Rows(10, now_);
  Append(batch);
  Append(TestBatch().Id(2).Rows(10, now_ - 2 * kDayMs));
  gate.Set(false);
  auto duplicate = AppendAside(batch);  // is only counted
  gate.AwaitWaiting();
  auto read = std::async(std::launch::async, [this] { return RowCount(); });
  EXPECT_EQ(read.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  gate.Set(true);
  EXPECT_EQ(read.get(), 20);
  EXPECT_EQ(duplicate.get().rows_duplicate, 10u);
  ExpectBalance();
}

TEST_F(DiskAppendTest, ADayThatIsOverIsSealedAtOnceAndTodayHourByHour) {
  constexpr int64_t kHourMs = 3'600'000;
  Open();
  for (int64_t hour = 0; hour < 5; ++hour) {
    Append(TestBatch().Rows(10, now_ - hour * kHourMs));
    Append(TestBatch().Rows(10, now_ - kDayMs - hour * kHourMs));
  }
  Open();  // the log knows it, too
  Append(TestBatch().Rows(10, now_ - kDayMs - 6 * kHourMs));
  ASSERT_TRUE(store_->Seal().ok());
  EXPECT_EQ(store_->disk_status().seals, 6u);
  const TimeRange one = {now_ - kDayMs - 2 * kHourMs, now_ - kDayMs - kHourMs};
  EXPECT_EQ(RowCount(one), 10);
  EXPECT_EQ(StackCount(one), 10);
  EXPECT_EQ(RowCount(), 110);
  ASSERT_TRUE(store_->Settle().ok());
  report_ = {};
  EXPECT_EQ(StackCount(one), 10);
  EXPECT_EQ(RowCount(), 110);
  report_ = {};
  EXPECT_EQ(StackCount(), 110);
  EXPECT_GT(report_.index_bytes, 0u) << "sums of closed days are read from the index";
  EXPECT_EQ(report_.rows, 0u);
  ExpectBalance();
}

TEST_F(DiskAppendTest, ABatchOfManyDaysHasFewVolumesOpenAtOnce) {
  constexpr int64_t kDays = 15;
  options_.retention.age_ms = 100 * kDayMs;
  options_.open_volumes_max = 1;
  options_.maintenance_period_ms = 1;
  std::atomic<uint64_t> most{0};
  options_.step_hook = [&](std::string_view step) {
    if (step == "commit") most = std::max<uint64_t>(most, store_->disk_status().open_volumes);
  };
  Open();
  TestBatch batch;
  for (int64_t day = 1; day <= kDays; ++day) batch.Rows(10, now_ - day * kDayMs);
  EXPECT_EQ(Append(batch.Id(1)).rows_kept, 10u * kDays);
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 5u);
  EXPECT_EQ(RowCount(), 10 * kDays);
  EXPECT_EQ(Append(batch).rows_duplicate, 10u * kDays);
  ExpectBalance();
}

}  // namespace
}  // namespace vesta::store
