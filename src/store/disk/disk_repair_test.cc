// What is damage and what is not, and what becomes of the rest of a volume.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "src/base/byte_source.h"
#include "src/store/disk/store_fixture.h"

namespace vesta::store {
namespace {

constexpr int64_t kHourMs = 3'600'000;

class RepairTest : public DiskStoreTest {
 protected:
  // A closed day of 110 rows in a volume, and today: two sealed hours and one that is not.
  void Fill() {
    Open();
    Append(TestBatch().Id(1).Rows(110, now_ - kDayMs));
    ASSERT_TRUE(store_->Settle().ok());
    Append(TestBatch().Id(2).Service("a").Rows(100, now_ - 3 * kHourMs));
    Append(TestBatch().Id(3).Service("b").Rows(50, now_ - 2 * kHourMs));
    ASSERT_TRUE(store_->Maintain().ok());
    Append(TestBatch().Id(4).Rows(5, now_));
  }
  void ExpectRows(int64_t rows) {
    EXPECT_EQ(RowCount(), rows);
    EXPECT_EQ(StackCount(), rows);
    ExpectBalance();
  }
  std::vector<std::string> Quarantine() { return *ListFolder(options_.folder + "/quarantine"); }
  std::string Today(const std::string& name) {
    return options_.folder + "/days/" + DayName(kTestDay) + "/v0001/" + name;
  }
  std::string Yesterday(const std::string& name) {
    return options_.folder + "/days/" + DayName(kTestDay - 1) + "/v0001/" + name;
  }
  void MaintainAll() {
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store_->Maintain().ok());  // verifies all files
  }
};

TEST_F(RepairTest, WithoutDescriptorsNothingIsDamagedAndOneNoticeIsGiven) {
  Fill();
  options_.maintenance_period_ms = 1;
  Open();
  {
    const NoDescriptors none;
    const uint64_t before = store_->disk_status().maintenance_failures;
    while (store_->disk_status().maintenance_failures < before + 5) std::this_thread::yield();
  }
  store_.reset();
  EXPECT_EQ(notices_.size(), 1u) << notices_.back();
  EXPECT_NE(notices_.front().find("Too many open files"), std::string::npos) << notices_.front();
  EXPECT_EQ(Quarantine(), std::vector<std::string>());
  options_.maintenance_period_ms = 0;
  Open();
  MaintainAll();
  ExpectRows(265);
  EXPECT_EQ(Quarantine(), std::vector<std::string>());
}

TEST_F(RepairTest, WhatWasNotVerifiedForLackOfDescriptorsIsLater) {
  Fill();
  Open();
  FlipByte(Yesterday("rows.parquet"));
  {
    const NoDescriptors none;
    for (int i = 0; i < 40; ++i) (void)store_->Maintain().ok();
  }
  EXPECT_EQ(Quarantine(), std::vector<std::string>());
  now_ += 1'000;
  MaintainAll();
  EXPECT_EQ(Quarantine().size(), 1u);
  EXPECT_EQ(RowCount(), 155);
  EXPECT_EQ(StackCount(), 265);
  ExpectBalance();
}

TEST_F(RepairTest, AFileThatCannotBeOpenedFailsTheStartAndStaysWhereItIs) {
  Fill();
  store_.reset();
  std::ofstream(options_.folder + "/state.json") << R"({"version": 1, "book": {
      "rows_received": 0, "rows_kept": 0, "rows_overflowed": 0, "rows_duplicate": 0,
      "rows_too_old": 0, "rows_too_new": 0, "rows_expired": 0, "rows_quarantined": 0},
      "removed": [], "files_quarantined": 0})";
  Open();
  store_.reset();
  for (const std::string& path :
       {Yesterday("manifest.json"), Yesterday("rows.parquet"), Yesterday("volume.idx"),
        Yesterday("stacks.parquet"), Today("manifest.json"), Today("seg-0001.parquet"),
        Today("seg-0001.idx"), Today("hot.duckdb"), options_.folder + "/state.json",
        options_.folder + "/FORMAT"}) {
    SCOPED_TRACE(path);
    const std::string kept = parent_ + "/kept";
    std::filesystem::rename(path, kept);
    std::filesystem::create_symlink(path, path);  // a loop: what root cannot open either
    const auto opened = TryOpen();
    EXPECT_FALSE(opened.ok());
    const std::string message = opened.ok() ? "" : opened.error().message();
    EXPECT_NE(message.find(path), std::string::npos) << message;
    store_.reset();
    EXPECT_EQ(Quarantine(), std::vector<std::string>());
    ASSERT_TRUE(std::filesystem::is_symlink(path));
    std::filesystem::remove(path);
    std::filesystem::rename(kept, path);
  }
  Open();
  ExpectRows(265);
  EXPECT_TRUE(notices_.empty()) << notices_.front();
}

TEST_F(RepairTest, AnHourWithoutRowsAndSumsIsDroppedAndItsVolumeStays) {
  for (const bool while_open : {true, false}) {
    SCOPED_TRACE(while_open);
    ASSERT_TRUE(RemoveAll(options_.folder).ok());
    Fill();
    if (!while_open) store_.reset();
    FlipByte(Today("seg-0001.parquet"));
    std::filesystem::resize_file(Today("seg-0001.idx"), 20);
    if (!while_open) Open();
    MaintainAll();
    ExpectRows(165);
    EXPECT_EQ(store_->Status().rows_quarantined, 100u);
    EXPECT_EQ(Quarantine().size(), 2u);
    EXPECT_EQ(store_->disk_status().volumes, 2u);
    // It goes on taking rows, which are there after the next start.
    Append(TestBatch().Id(5).Rows(7, now_));
    EXPECT_EQ(Append(TestBatch().Id(2).Rows(100, now_)).rows_duplicate, 100u);
    EXPECT_EQ(store_->disk_status().volumes, 2u);
    ExpectRows(172);
    Open();
    ExpectRows(172);
    ASSERT_TRUE(store_->Settle().ok());
    ExpectRows(172);
    EXPECT_EQ(store_->Status().rows_quarantined, 100u);
    store_.reset();
  }
}

TEST_F(RepairTest, AnIndexIsNotMadeAnewOutOfRowsThatAreDamaged) {
  Fill();
  FlipByte(Today("seg-0001.parquet"));
  std::filesystem::remove(Today("seg-0001.idx"));
  Open();
  MaintainAll();
  ExpectRows(165);
}

TEST_F(RepairTest, AVolumeThatIsSetAsideTakesNoMoreRows) {
  Fill();
  store_.reset();
  // A file that nothing can be made of, as a newer version may have.
  std::string manifest = *base::ReadSmallFile(Today("manifest.json"));
  const std::string files = "\"files\":[";
  const size_t at = manifest.find(files);
  ASSERT_NE(at, std::string::npos) << manifest;
  manifest.insert(at + files.size(),
                  R"({"name":"marks.bin","bytes":9,"xxh3_128":")" + std::string(32, '0') + "\"},");
  std::ofstream(Today("manifest.json")) << manifest;
  Open();
  Append(TestBatch().Id(5).Rows(7, now_));
  ASSERT_TRUE(store_->Maintain().ok());
  Append(TestBatch().Id(6).Rows(9, now_));
  ExpectRows(119);
  EXPECT_EQ(store_->Status().rows_quarantined, 162u);
  Open();
  ExpectRows(119);
  EXPECT_EQ(store_->Status().rows_quarantined, 162u);
}

TEST_F(RepairTest, AVolumeThatCannotBeMovedAwayIsNotRemovedByTheNextStart) {
  Fill();
  store_.reset();
  std::filesystem::remove_all(options_.folder + "/quarantine");
  std::ofstream(options_.folder + "/quarantine") << "in the way";
  std::filesystem::remove(Yesterday("rows.parquet"));
  std::filesystem::remove(Yesterday("volume.idx"));
  Open();
  const auto maintained = store_->Maintain();
  ASSERT_FALSE(maintained.ok());
  EXPECT_NE(maintained.error().message().find("quarantine"), std::string::npos)
      << maintained.error().message();
  EXPECT_EQ(store_->disk_status().open_volumes, 1u);
  Open();
  EXPECT_TRUE(Exists(Yesterday("stacks.parquet")));
  std::filesystem::remove(options_.folder + "/quarantine");
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_FALSE(Exists(Yesterday("stacks.parquet")));
  EXPECT_GE(Quarantine().size(), 1u);
  ExpectRows(155);
  EXPECT_EQ(store_->Status().rows_quarantined, 110u);
  Open();
  ExpectRows(155);
}

}  // namespace
}  // namespace vesta::store
