// Steps of the maintenance that fail, and what they must not do to the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "src/store/disk/store_fixture.h"

namespace vesta::store {
namespace {

constexpr int64_t kHourMs = 3'600'000;

class MaintenanceTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    DiskStoreTest::SetUp();
    options_.step_hook = [this](std::string_view step) { steps_.emplace_back(step); };
    // Of the disk's 1,000 MB, these must stay free.
    space_ = {1'000'000'000, 900'000'000};
    options_.retention.reserve_share = 0.1;
    options_.retention.disk_full_share = 1;
  }
  std::string DayFolder(int64_t day) { return options_.folder + "/days/" + DayName(day) + "/"; }
  int64_t CountOf(const std::string& step) {
    return std::count(steps_.begin(), steps_.end(), step);
  }
  void ExpectRows(int64_t rows) {
    EXPECT_EQ(RowCount(), rows);
    EXPECT_EQ(StackCount(), rows);
    ExpectBalance();
  }
  // Two closed volumes of yesterday.
  void MakeTwo() {
    Append(TestBatch().Id(1).Rows(100, now_ - kDayMs));
    ASSERT_TRUE(store_->Settle().ok());
    Append(TestBatch().Id(2).Service("b").Rows(50, now_ - kDayMs));
    now_ += options_.idle_ms;
    ASSERT_TRUE(store_->Maintain().ok());
    ASSERT_EQ(store_->disk_status().volumes, 2u);
    ASSERT_EQ(store_->disk_status().open_volumes, 0u);
  }

  std::vector<std::string> steps_;
};

TEST_F(MaintenanceTest, ADayThatCannotBeClosedKeepsNothingElseFromBeingDone) {
  Open();
  Append(TestBatch().Id(1).Rows(100, now_ - 2 * kDayMs - kHourMs));
  ASSERT_TRUE(store_->Seal().ok());  // two files of one day
  Append(TestBatch().Id(2).Rows(50, now_ - 2 * kDayMs));
  Append(TestBatch().Id(3).Rows(20, now_ - kDayMs));
  Append(TestBatch().Id(4).Rows(10, now_ - kHourMs));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(store_->Maintain().ok());  // seals, verifies
  std::filesystem::resize_file(DayFolder(kTestDay - 2) + "v0001/seg-0001.parquet", 100);
  now_ += options_.idle_ms;
  EXPECT_FALSE(store_->Maintain().ok());
  EXPECT_TRUE(Exists(DayFolder(kTestDay - 1) + "v0001/volume.idx"));  // the other one is closed
  EXPECT_EQ(store_->disk_status().open_volumes, 2u);
  // It was found out what is wrong with it, and with one hour less it can be closed.
  now_ += 1'000;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_TRUE(Exists(DayFolder(kTestDay - 2) + "v0001/volume.idx"));
  EXPECT_EQ(store_->Status().rows_quarantined, 100u);
  EXPECT_EQ(RowCount(), 80);
  EXPECT_EQ(StackCount(), 180);
  ExpectBalance();
}

TEST_F(MaintenanceTest, WhatFailsIsTriedEverMoreSeldom) {
  Open();
  Append(TestBatch().Rows(100, now_ - kDayMs));
  now_ += options_.idle_ms;
  space_.free_bytes = 100'000'001;
  EXPECT_FALSE(store_->Maintain().ok());
  int failures = 0;
  for (int second = 0; second < 60; ++second) {
    if (!store_->Maintain().ok()) ++failures;
    now_ += 1'000;
  }
  EXPECT_EQ(failures, 5);  // after 1, 3, 7, 15 and 31 seconds
  ExpectRows(100);
}

TEST_F(MaintenanceTest, ADayIsClosedOnlyWhenThatLeavesTheReserve) {
  Open();
  Append(TestBatch().Id(1).Rows(100, now_ - kDayMs));
  space_.free_bytes = 100'000'001;
  const auto settled = store_->Settle();
  ASSERT_FALSE(settled.ok());
  EXPECT_EQ(settled.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_NE(settled.error().message().find("MiB are free"), std::string::npos)
      << settled.error().message();
  EXPECT_EQ(CountOf("close rows"), 0);
  EXPECT_EQ(store_->disk_status().open_rows, 0u);  // sealed: they take no memory
  ExpectRows(100);
  Append(TestBatch().Id(2).Rows(10, now_ - kDayMs));
  space_.free_bytes = 900'000'000;
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(store_->disk_status().volumes, 1u);
  ExpectRows(110);
}

TEST_F(MaintenanceTest, ADayGoesByAgeThoughItCannotBeClosed) {
  options_.retention.age_ms = 3 * kDayMs;
  Open();
  Append(TestBatch().Rows(100, now_ - 2 * kDayMs));
  Append(TestBatch().Rows(10, now_));
  ASSERT_TRUE(store_->Maintain().ok());
  space_.free_bytes = 100'000'001;
  now_ += 2 * kDayMs;
  (void)store_->Maintain().ok();
  EXPECT_FALSE(Exists(DayFolder(kTestDay - 2)));
  EXPECT_EQ(store_->Status().rows_expired, 100u);
  ExpectRows(10);
  Open();
  ExpectRows(10);
}

TEST_F(MaintenanceTest, AMergeThatFailsLeavesNoFolder) {
  Open();
  MakeTwo();
  std::filesystem::resize_file(DayFolder(kTestDay - 1) + "v0001/rows.parquet", 100);
  now_ += 10 * options_.idle_ms;
  EXPECT_FALSE(store_->Maintain().ok());
  EXPECT_EQ(CountOf("merge"), 1);
  EXPECT_EQ(*ListFolder(DayFolder(kTestDay - 1)), (std::vector<std::string>{"v0001", "v0002"}));
  EXPECT_EQ(StackCount(), 150);
  ASSERT_TRUE(store_->Maintain().ok());  // the damaged rows are found
  EXPECT_EQ(CountOf("merge"), 1);
  EXPECT_EQ(RowCount(), 50);
  EXPECT_EQ(StackCount(), 150);
  ExpectBalance();
}

TEST_F(MaintenanceTest, AVolumeThatCannotBeMadeLeavesNoFolder) {
  Open();
  const std::string day = DayFolder(kTestDay);
  std::filesystem::create_directories(day + "v0001/hot.duckdb");  // in the way
  const auto refused = store_->Append(TestBatch().Id(1).Rows(10, now_).get());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable) << refused.error().message();
  EXPECT_EQ(*ListFolder(day), std::vector<std::string>());
  Append(TestBatch().Id(1).Rows(10, now_));
  EXPECT_EQ(*ListFolder(day), std::vector<std::string>{"v0002"});
  ExpectRows(10);
}

TEST_F(MaintenanceTest, VolumesAreMergedOnlyWhenThatLeavesTheReserve) {
  Open();
  MakeTwo();
  now_ += 10 * options_.idle_ms;
  space_.free_bytes = 100'000'001;
  EXPECT_FALSE(store_->Maintain().ok());
  EXPECT_EQ(CountOf("merge"), 0);
  space_.free_bytes = 900'000'000;
  now_ += 1'000;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().volumes, 1u);
  ExpectRows(150);
}

TEST_F(MaintenanceTest, TheSmallestVolumesOfADayAreMergedFirst) {
  options_.dictionary_bytes_max = 5'000;
  Open();
  Append(TestBatch().Stacks(200, now_ - kDayMs));  // 20,000 bytes by itself
  ASSERT_TRUE(store_->Settle().ok());
  for (const char* service : {"b", "c", "d"}) {
    Append(TestBatch().Service(service).Rows(10, now_ - kDayMs));
    ASSERT_TRUE(store_->Settle().ok());
  }
  EXPECT_EQ(store_->disk_status().volumes, 2u);
  ExpectRows(230);
}

TEST_F(MaintenanceTest, LateRowsMakeNoFileEach) {
  options_.seal_idle_ms = 60'000;
  Open();
  const int64_t late = now_ - kHourMs;  // that hour is over
  for (int i = 0; i < 30; ++i) {
    Append(TestBatch().Rows(10, late));
    ASSERT_TRUE(store_->Maintain().ok());
    now_ += 20'000;
  }
  EXPECT_EQ(store_->disk_status().seals, 0u);
  ASSERT_TRUE(store_->Maintain().ok());
  now_ += 39'999;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().seals, 0u);
  now_ += 1;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().seals, 1u);
  Append(TestBatch().Rows(1'000, late));  // enough for a file
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().seals, 2u);
  ExpectRows(1'300);
}

TEST_F(MaintenanceTest, ForeignFilesInTheFolderOfADayStay) {
  Open();
  store_.reset();
  const std::string backup = DayFolder(kTestDay - 3) + "v0001.bak";
  std::filesystem::create_directories(backup);
  std::ofstream(backup + "/rows.parquet") << "mine";
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_TRUE(Exists(backup + "/rows.parquet"));
}

TEST_F(MaintenanceTest, AFolderThatWasBeingRemovedIsNoVolume) {
  Open();
  Append(TestBatch().Rows(100, now_));
  ASSERT_TRUE(store_->Settle().ok());
  store_.reset();
  const std::string volume = DayFolder(kTestDay) + "v0001";
  std::filesystem::copy(volume, DayFolder(kTestDay) + "v0002.tmp");
  Open();
  EXPECT_EQ(*ListFolder(DayFolder(kTestDay)), std::vector<std::string>{"v0001"});
  ExpectRows(100);
}

TEST_F(MaintenanceTest, AFirstStartThatWasKilledAndANewFileSystemAreNoOtherFiles) {
  ASSERT_TRUE(MakeFolder(options_.folder).ok());
  ASSERT_TRUE(MakeFolder(options_.folder + "/lost+found").ok());
  std::ofstream(options_.folder + "/FORMAT.tmp") << "vesta";
  Open();
  EXPECT_FALSE(Exists(options_.folder + "/FORMAT.tmp"));
}

TEST_F(MaintenanceTest, AllLogsOfTheDatabaseBelongToAnOpenVolume) {
  Open();
  Append(TestBatch().Rows(100, now_));
  store_.reset();
  const std::string log = DayFolder(kTestDay) + "v0001/hot.duckdb.other";
  std::ofstream(log) << "";
  Open();
  EXPECT_TRUE(Exists(log));
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_FALSE(Exists(log));
  ExpectRows(100);
}

}  // namespace
}  // namespace vesta::store
