#include "src/store/disk/disk_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/base/byte_source.h"
#include "src/store/disk/store_fixture.h"

namespace vesta::store {
namespace {

TEST_F(DiskStoreTest, OneProcessAtATime) {
  Open();
  const auto second = DiskStore::Open(options_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), base::ErrorCode::kBusy);
  EXPECT_NE(second.error().message().find(std::to_string(::getpid())), std::string::npos);
}

TEST_F(DiskStoreTest, AnotherVersionIsRefused) {
  Open();
  store_.reset();
  std::ofstream(options_.folder + "/FORMAT") << "vesta store 2\n";
  const auto opened = TryOpen();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), base::ErrorCode::kUnsupported);
}

TEST_F(DiskStoreTest, AFolderOfSomethingElseIsNotTaken) {
  ASSERT_TRUE(MakeFolder(options_.folder).ok());
  std::ofstream(options_.folder + "/precious.txt") << "mine";
  const auto opened = TryOpen();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), base::ErrorCode::kInvalidInput);
}

TEST_F(DiskStoreTest, HoursAreSealedAndDaysClosedByTheClock) {
  Open();
  Append(TestBatch().Rows(100, now_ - 3'600'000));
  Append(TestBatch().Rows(50, now_));
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().seals, 1u);  // the hour that is over
  EXPECT_EQ(store_->disk_status().open_rows, 50u);
  now_ = (kTestDay + 1) * kDayMs + options_.day_grace_ms - 1;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().open_volumes, 0u);  // no row for two minutes, and not today
  EXPECT_EQ(FindFile(options_.folder, "hot.duckdb"), "");
  EXPECT_EQ(StackCount(), 150);
  EXPECT_EQ(RowCount(), 150);
  ExpectBalance();
}

TEST_F(DiskStoreTest, AClockThatGoesBackwardDoesNotKeepADayOpen) {
  Open();
  Append(TestBatch().Rows(10, now_ - kDayMs));
  now_ -= 3'600'000;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().open_volumes, 1u);
  now_ += options_.idle_ms;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().open_volumes, 0u);
  EXPECT_EQ(RowCount(), 10);
}

TEST_F(DiskStoreTest, WeeksThatAreFilledInCloseTheDayThatWaitedLongest) {
  options_.open_volumes_max = 2;
  Open();
  for (int64_t day = 1; day <= 6; ++day) {
    Append(TestBatch().Rows(10, now_ - day * kDayMs));
    now_ += 1'000;
    ASSERT_TRUE(store_->Maintain().ok());
    EXPECT_LE(store_->disk_status().open_volumes, 2u);
  }
  EXPECT_EQ(store_->Status().days, 6u);
  EXPECT_EQ(RowCount(), 60);
  EXPECT_EQ(StackCount(), 60);
  Open();
  EXPECT_EQ(StackCount(), 60);
  ExpectBalance();
}

TEST_F(DiskStoreTest, LateRowsOfAClosedDayAreMergedIntoIt) {
  Open();
  Append(TestBatch().Id(1).Rows(10, now_));
  ASSERT_TRUE(store_->Settle().ok());
  Append(TestBatch().Id(2).Service("b").Rows(20, now_));
  EXPECT_EQ(Append(TestBatch().Id(1).Rows(10, now_)).rows_duplicate, 10u);
  EXPECT_EQ(store_->disk_status().volumes, 2u);
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(store_->disk_status().volumes, 1u);
  EXPECT_EQ(StackCount(), 30);
  EXPECT_EQ(RowCount(), 30);
  Open();
  EXPECT_EQ(Append(TestBatch().Id(2).Service("b").Rows(20, now_)).rows_duplicate, 20u);
  EXPECT_EQ(store_->Status().book.rows_duplicate, 30u);
  ExpectBalance();
}

TEST_F(DiskStoreTest, ABatchOverMidnightIsCountedOnceInBothDays) {
  Open();
  const int64_t midnight = kTestDay * kDayMs;
  TestBatch batch;
  batch.Id(7).Rows(10, midnight - 5);
  EXPECT_EQ(Append(batch).rows_kept, 10u);
  EXPECT_EQ(store_->Status().days, 2u);
  EXPECT_EQ(Append(batch).rows_duplicate, 10u);
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(Append(batch).rows_duplicate, 10u);
  EXPECT_EQ(RowCount(), 10);
  ExpectBalance();
}

TEST_F(DiskStoreTest, DaysGoByAge) {
  options_.retention.age_ms = 3 * kDayMs;
  Open();
  Append(TestBatch().Rows(10, now_ - 2 * kDayMs));
  Append(TestBatch().Rows(20, now_));
  EXPECT_EQ(Append(TestBatch().Rows(5, now_ - 4 * kDayMs)).rows_too_old, 5u);
  ASSERT_TRUE(store_->Settle().ok());
  now_ += 2 * kDayMs;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(RowCount(), 20);
  EXPECT_EQ(store_->Status().rows_expired, 10u);
  EXPECT_EQ(ListFolder(options_.folder + "/days")->size(), 1u);
  ExpectBalance();
  Open();
  EXPECT_EQ(store_->Status().rows_expired, 10u);
  EXPECT_EQ(store_->Status().book.rows_too_old, 5u);
  ExpectBalance();
}

TEST_F(DiskStoreTest, RawRowsGoByBytesAndTheirSumsStay) {
  Open();
  for (int64_t day = 0; day < 3; ++day) Append(TestBatch().Rows(900, now_ - day * kDayMs));
  ASSERT_TRUE(store_->Settle().ok());
  options_.retention.bytes_max = store_->Status().disk_bytes - 1;
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().raw_expired_volumes, 1u);
  EXPECT_EQ(StackCount(), 2'700);
  EXPECT_EQ(RowCount(), 1'800);
  EXPECT_FALSE(report_.notes.empty());
  EXPECT_EQ(store_->Status().rows_expired, 900u);
  ExpectBalance();
  Open();
  EXPECT_EQ(StackCount(), 2'700);
  ExpectBalance();
}

TEST_F(DiskStoreTest, AFullDiskRefusesWritesAndAnswers) {
  Open();
  Append(TestBatch().Rows(10, now_));
  space_.free_bytes = 1'000;
  Open();
  TestBatch more;
  more.Rows(10, now_);
  const auto refused = store_->Append(more.get());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message().find("disk is full"), std::string::npos);
  EXPECT_EQ(RowCount(), 10);
  EXPECT_TRUE(store_->Status().refuses_writes.has_value());
  space_.free_bytes = 900'000'000'000;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_TRUE(store_->Append(more.get()).ok());
  ExpectBalance();
}

TEST_F(DiskStoreTest, ClosingRefusesAppends) {
  Open();
  store_->RefuseAppends();
  const auto refused = store_->Append(TestBatch().Rows(1, now_).get());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable);
}

// What is left of a closed day of 100 rows and an intact one of 10, after damage to one file.
class DamageTest : public DiskStoreTest {
 protected:
  void Fill() {
    Open();
    Append(TestBatch().Id(1).Rows(100, now_));
    Append(TestBatch().Id(2).Rows(10, now_ - kDayMs));
    ASSERT_TRUE(store_->Settle().ok());
    store_.reset();
    const std::string folder = options_.folder + "/days/" + DayName(kTestDay) + "/v0001/";
    damaged_ = folder;
  }
  void ExpectRepaired(int64_t stacks, int64_t rows) {
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store_->Maintain().ok());  // verifies all files
    EXPECT_EQ(StackCount(), stacks);
    EXPECT_EQ(RowCount(), rows);
    ExpectBalance();
    EXPECT_FALSE(notices_.empty());
    EXPECT_FALSE(ListFolder(options_.folder + "/quarantine")->empty());
    notices_.clear();
    Open();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store_->Maintain().ok());
    EXPECT_EQ(StackCount(), stacks);
    EXPECT_TRUE(notices_.empty());
    ExpectBalance();
  }
  std::string damaged_;
};

TEST_F(DamageTest, RowsThatAreFlippedAreFoundLaterAndSetAside) {
  Fill();
  FlipByte(damaged_ + "rows.parquet");
  Open();
  EXPECT_EQ(StackCount(), 110);  // sums do not need them
  ExpectRepaired(110, 10);
  EXPECT_EQ(store_->Status().rows_quarantined, 100u);
}

TEST_F(DamageTest, RowsThatAreCut) {
  Fill();
  std::filesystem::resize_file(damaged_ + "rows.parquet", 100);
  Open();
  ExpectRepaired(110, 10);
}

TEST_F(DamageTest, RowsThatAreMissingWhileTheStoreIsOpen) {
  Fill();
  Open();
  std::filesystem::remove(damaged_ + "rows.parquet");
  EXPECT_EQ(RowCount(), 10);
  ASSERT_FALSE(report_.notes.empty());
  EXPECT_NE(report_.notes.front().find("rows.parquet is damaged"), std::string::npos);
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->Status().rows_quarantined, 100u);
  ExpectBalance();
}

TEST_F(DamageTest, AnIndexIsMadeAnewOutOfRows) {
  Fill();
  FlipByte(damaged_ + "volume.idx");
  Open();
  ExpectRepaired(110, 110);
}

TEST_F(DamageTest, AnIndexThatIsCut) {
  Fill();
  std::filesystem::resize_file(damaged_ + "volume.idx", 10);
  Open();
  EXPECT_EQ(StackCount(), 10);
  EXPECT_FALSE(report_.notes.empty());
  ExpectRepaired(110, 110);
}

TEST_F(DamageTest, TablesAreMadeAnewOutOfTheIndex) {
  Fill();
  FlipByte(damaged_ + "stacks.parquet");
  Open();
  ExpectRepaired(110, 110);
}

TEST_F(DamageTest, ALostLedgerCostsOnlyTheMemoryOfBatches) {
  Fill();
  std::ofstream(damaged_ + "ledger.json") << "[{";
  Open();
  EXPECT_EQ(Append(TestBatch().Id(2).Rows(10, now_ - kDayMs)).rows_duplicate, 10u);
  ExpectRepaired(110, 110);
}

TEST_F(DamageTest, AManifestIsGuessedFromTheFiles) {
  Fill();
  std::ofstream(damaged_ + "manifest.json") << "{";
  for (int start = 0; start < 2; ++start) {
    Open();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store_->Maintain().ok());  // verifies all files
    EXPECT_EQ(StackCount(), 110);
    EXPECT_EQ(RowCount(), 110);
    EXPECT_EQ(notices_.size(), 1u) << notices_.back();
    ExpectBalance();
  }
}

TEST_F(DamageTest, AMissingHotFileIsTold) {
  Open();
  Append(TestBatch().Rows(5, now_));
  store_.reset();
  std::filesystem::remove(FindFile(options_.folder, "hot.duckdb"));
  Open();
  ASSERT_FALSE(notices_.empty());
  EXPECT_NE(notices_.back().find("hot.duckdb is missing"), std::string::npos) << notices_.back();
  Append(TestBatch().Rows(7, now_));
  EXPECT_EQ(RowCount(), 7);
  ExpectBalance();
}

TEST_F(DamageTest, AnOpenVolumeWithoutItsManifest) {
  Open();
  Append(TestBatch().Id(1).Rows(1'000, now_ - 3'600'000));
  Append(TestBatch().Id(2).Rows(10, now_));
  ASSERT_TRUE(store_->Maintain().ok());  // the first hour is sealed
  store_.reset();
  std::filesystem::remove(FindFile(options_.folder, "manifest.json"));
  Open();
  EXPECT_EQ(StackCount(), 1'010);
  EXPECT_EQ(RowCount(), 1'010);
  EXPECT_EQ(Append(TestBatch().Id(1).Rows(1'000, now_)).rows_duplicate, 1'000u);
  ExpectBalance();
}

TEST_F(DamageTest, ADamagedHotFileIsSetAsideAndTheRestServes) {
  Fill();
  Open();
  Append(TestBatch().Rows(5, now_ - 2 * kDayMs));
  store_.reset();
  std::filesystem::resize_file(FindFile(options_.folder, "hot.duckdb"), 100);
  Open();
  EXPECT_EQ(StackCount(), 110);
  EXPECT_EQ(store_->disk_status().files_quarantined, 1u);
  ExpectBalance();
  Append(TestBatch().Rows(5, now_ - 2 * kDayMs));
  EXPECT_EQ(StackCount(), 115);
}

// Today's volume, open, after a kill -9 that the caller may make worse.
class LostNamesTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    DiskStoreTest::SetUp();
    Open();
    Append(TestBatch().Id(1).Service("a").Rows(1'000, now_ - 3 * kHourMs));
    ASSERT_TRUE(store_->Maintain().ok());  // sealed
  }
  static constexpr int64_t kHourMs = 3'600'000;

  void Kill() {
    const std::string copy = parent_ + "/copy";
    std::filesystem::copy(options_.folder, copy, std::filesystem::copy_options::recursive);
    store_.reset();
    options_.folder = copy;
    hot_ = FindFile(copy, "hot.duckdb");
  }
  // And the copies of names beside sealed rows.
  void LoseNamesFiles() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.folder)) {
      if (entry.path().extension() == ".names") std::filesystem::remove(entry.path());
    }
  }
  // Rows of b are sealed; the hot file is as it was before they came.
  void LoseNamesOfB() {
    const std::string before = parent_ + "/before";
    std::filesystem::copy_file(FindFile(options_.folder, "hot.duckdb"), before);
    Append(TestBatch().Id(2).Service("b").Rows(1'000, now_ - 2 * kHourMs));
    ASSERT_TRUE(store_->Maintain().ok());
    Kill();
    std::filesystem::remove(hot_ + ".wal");
    std::filesystem::copy_file(before, hot_, std::filesystem::copy_options::overwrite_existing);
    LoseNamesFiles();
  }
  std::map<std::string, int64_t> Services() {
    std::map<std::string, int64_t> counts;
    const auto all = store_->Series({}, {}, &report_);
    EXPECT_TRUE(all.ok()) << all.error().message();
    for (const SeriesTotal& one : *all) counts[store_->labels(one.series)[0].value] += one.count;
    return counts;
  }
  using Counts = std::map<std::string, int64_t>;
  std::string hot_;
};

TEST_F(LostNamesTest, ALostLogTakesNoNameOfSealedRows) {
  Append(TestBatch().Id(2).Service("b").Rows(1'000, now_ - 2 * kHourMs));
  ASSERT_TRUE(store_->Maintain().ok());
  Append(TestBatch().Id(3).Service("c").Rows(10, now_));
  Kill();
  ASSERT_TRUE(std::filesystem::remove(hot_ + ".wal"));
  Open();
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}, {"b", 1'000}}));
  Append(TestBatch().Id(3).Service("d").Rows(5, now_));
  EXPECT_EQ(Append(TestBatch().Id(2).Rows(1'000, now_)).rows_duplicate, 1'000u);
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}, {"b", 1'000}, {"d", 5}}));
  EXPECT_EQ(RowCount(), 2'005);
  EXPECT_EQ(store_->disk_status().volumes, 1u);
  EXPECT_TRUE(notices_.empty()) << notices_.front();
  ExpectBalance();
}

TEST_F(LostNamesTest, RowsWhoseNamesAreLostAreNobodyElses) {
  LoseNamesOfB();
  Open();
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}}));
  EXPECT_EQ(store_->Status().rows_quarantined, 1'000u);
  EXPECT_EQ(store_->disk_status().files_quarantined, 4u);
  ASSERT_EQ(notices_.size(), 5u);
  EXPECT_NE(notices_[1].find("seg-0001.names"), std::string::npos) << notices_[1];
  EXPECT_NE(notices_[3].find("seg-0002.parquet"), std::string::npos) << notices_[3];
  EXPECT_NE(notices_[3].find("1000 rows are lost"), std::string::npos) << notices_[3];
  ExpectBalance();
  // Rows that come go to another volume; the first one stays as it is until it is closed.
  Append(TestBatch().Id(3).Service("c").Rows(5, now_));
  EXPECT_EQ(store_->disk_status().volumes, 2u);
  Open();
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}, {"c", 5}}));
  Append(TestBatch().Id(4).Service("e").Rows(7, now_));
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}, {"c", 5}, {"e", 7}}));
  ASSERT_TRUE(store_->Settle().ok());
  Open();
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}, {"c", 5}, {"e", 7}}));
  report_.notes.clear();
  EXPECT_EQ(RowCount(), 1'012);
  ASSERT_EQ(report_.notes.size(), 1u);
  EXPECT_NE(report_.notes[0].find("1000 rows were lost"), std::string::npos) << report_.notes[0];
  EXPECT_EQ(store_->Status().rows_quarantined, 1'000u);
  ExpectBalance();
}

TEST_F(LostNamesTest, WithTheWholeHotFile) {
  Kill();
  std::filesystem::remove(hot_ + ".wal");
  ASSERT_TRUE(std::filesystem::remove(hot_));
  LoseNamesFiles();
  Open();
  EXPECT_EQ(Services(), Counts{});
  EXPECT_EQ(store_->Status().rows_quarantined, 1'000u);
  ExpectBalance();
  Append(TestBatch().Service("d").Rows(5, now_));
  ASSERT_TRUE(store_->Settle().ok());
  Open();
  EXPECT_EQ(Services(), (Counts{{"d", 5}}));
  EXPECT_EQ(store_->Status().rows_quarantined, 1'000u);
  ExpectBalance();
}

// Then the rows alone tell which numbers they use.
TEST_F(LostNamesTest, WithTheManifest) {
  LoseNamesOfB();
  ASSERT_TRUE(std::filesystem::remove(FindFile(options_.folder, "manifest.json")));
  Open();
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}}));
  Append(TestBatch().Id(3).Service("c").Rows(5, now_));
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}, {"c", 5}}));
  EXPECT_EQ(store_->Status().rows_quarantined, 1'000u);
  ExpectBalance();
}

TEST_F(DamageTest, TheStateFile) {
  options_.retention.age_ms = 3 * kDayMs;
  Open();
  Append(TestBatch().Rows(5, now_ - 4 * kDayMs));  // too old: counted in state.json
  store_.reset();
  ASSERT_FALSE(base::ReadSmallFile(options_.folder + "/state.json")->empty());
  std::ofstream(options_.folder + "/state.json") << "";
  Open();
  EXPECT_EQ(notices_.size(), 1u);
  ExpectBalance();
}

}  // namespace
}  // namespace vesta::store
