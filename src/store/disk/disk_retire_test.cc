// What the store removes, and what it must not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/store/disk/store_fixture.h"

namespace vesta::store {
namespace {

class RetireTest : public DiskStoreTest {
 protected:
  // Closed days of 900 rows each, the newest now_'s; settled.
  void Fill(int64_t days) {
    Open();
    for (int64_t day = 0; day < days; ++day) {
      TestBatch batch;
      batch.Id(static_cast<uint64_t>(day));
      for (int64_t row = 0; row < 900; ++row) {
        batch.Rows(1, now_ - day * kDayMs + row, row * 2'654'435'761 % 1'000'003);
      }
      Append(batch);
    }
    ASSERT_TRUE(store_->Settle().ok());
  }
  uint64_t BytesOfRows(int64_t day) {
    return std::filesystem::file_size(options_.folder + "/days/" + DayName(kTestDay - day) +
                                      "/v0001/rows.parquet");
  }
  bool HasNotice(const std::string& words) {
    return std::any_of(notices_.begin(), notices_.end(), [&words](const std::string& notice) {
      return notice.find(words) != std::string::npos;
    });
  }
};

TEST_F(RetireTest, ADiskThatOthersFillTakesNoRows) {
  Fill(3);
  space_ = {1'000'000'000, 130'000'000};  // 87 % full
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(RowCount(), 2'700);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("the disk is 87 % full"), std::string::npos) << notices_[0];
  EXPECT_NE(notices_[0].find("mostly by other files"), std::string::npos) << notices_[0];
}

TEST_F(RetireTest, AFullDiskTakesTheOldestRowsAndSaysSo) {
  Fill(3);
  space_ = {1'000'000'000, 150'000'000 - 10};
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(RowCount(), 1'800);
  EXPECT_EQ(StackCount(), 2'700);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find(DayName(kTestDay - 2)), std::string::npos) << notices_[0];
  EXPECT_NE(notices_[0].find("the disk was more than 85 % full"), std::string::npos) << notices_[0];
  ExpectBalance();
}

// A day that is being read is still on the disk when the space is measured again.
TEST_F(RetireTest, RowsThatAreStillReadCountAsFreed) {
  Fill(3);
  const DiskSpace full = {1'000'000'000, 150'000'000 - BytesOfRows(2) + 10};
  space_ = full;
  int64_t rows = 0;
  const auto read = store_->Rows(All(), &report_, [&](const RowBlock& block) {
    if (rows == 0) {
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(store_->Maintain().ok());
    }
    rows += static_cast<int64_t>(block.rows.size());
    return base::Result<void>();
  });
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(rows, 2'700);
  EXPECT_EQ(store_->Status().rows_expired, 900u);
  // Without readers, they are free, and the next one would be asked for.
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->Status().rows_expired, 1'800u);
}

TEST_F(RetireTest, AClockInTheFutureDoesNotEmptyTheStore) {
  Fill(3);
  store_.reset();
  const int64_t right = now_;
  now_ += 4'000 * kDayMs;
  Open();
  for (int minute = 0; minute < 59; ++minute) {
    ASSERT_TRUE(store_->Maintain().ok());
    Append(TestBatch().Rows(1, now_));  // pushed by programs of the same clock
    now_ += 60'000;
  }
  EXPECT_EQ(store_->Status().rows_expired, 0u);
  // It is set right.
  clock_error_ms_ = right - now_;
  now_ = right;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(RowCount(), 2'700 + 59);
  ExpectBalance();
}

TEST_F(RetireTest, AClockThatStaysInTheFutureIsBelievedInTheEnd) {
  Fill(3);
  now_ += 4'000 * kDayMs;
  clock_error_ms_ = 4'000 * kDayMs;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(RowCount(), 2'700);
  now_ += 3'600'000;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(RowCount(), 0);
  EXPECT_EQ(store_->Status().rows_expired, 2'700u);
  ExpectBalance();
}

// The smallest size that may be asked for is smaller than the hot file of a busy day.
TEST_F(RetireTest, TheHotFileOfTodayTakesNoOtherDay) {
  Fill(2);
  const uint64_t closed = store_->Status().disk_bytes;
  Append(TestBatch().Rows(500, now_));
  ASSERT_GT(store_->Status().disk_bytes, closed + 1'000);
  options_.retention.bytes_max = closed + 1'000;
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->Status().rows_expired, 0u);
}

class AsideTest : public RetireTest {
 protected:
  // Damages the rows of a day; they are set aside when this returns.
  void Damage(int64_t day) {
    const std::string rows =
        options_.folder + "/days/" + DayName(kTestDay - day) + "/v0001/rows.parquet";
    store_.reset();
    std::filesystem::resize_file(rows, std::filesystem::file_size(rows) - 1);
    Open();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(store_->Maintain().ok());
  }
  std::vector<std::string> Asides() { return *ListFolder(options_.folder + "/quarantine"); }
};

TEST_F(AsideTest, WhatIsSetAsideIsCounted) {
  Fill(3);
  const uint64_t rows = BytesOfRows(2);
  const uint64_t before = store_->Status().disk_bytes;
  Damage(2);
  ASSERT_EQ(Asides().size(), 1u);
  EXPECT_EQ(store_->disk_status().quarantine_bytes, rows - 1);
  EXPECT_NEAR(static_cast<double>(store_->Status().disk_bytes), static_cast<double>(before), 1);
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->disk_status().quarantine_bytes, rows - 1);
}

TEST_F(AsideTest, ItGoesWithTheDaysOfItsAge) {
  options_.retention.age_ms = 5 * kDayMs;
  Fill(3);
  Damage(2);
  Damage(0);
  now_ += 4 * kDayMs;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(store_->Maintain().ok());
  ASSERT_EQ(Asides().size(), 1u);
  EXPECT_NE(Asides()[0].find(DayName(kTestDay)), std::string::npos);
  EXPECT_TRUE(HasNotice("rows.parquet was removed"));
  EXPECT_EQ(store_->disk_status().files_quarantined, 2u);
}

TEST_F(AsideTest, ItIsBoundedByBytes) {
  Fill(3);
  ASSERT_TRUE(MakeFolder(options_.folder + "/quarantine").ok());
  const std::string megabyte(1'000'000, 'x');
  for (const char* name : {"/a", "/b"}) {  // as they would be sorted by name, too
    ASSERT_TRUE(WriteFileAtomically(options_.folder + "/quarantine" + name, megabyte).ok());
  }
  options_.retention.bytes_max = 15'000'000;
  Damage(2);
  ASSERT_TRUE(store_->Maintain().ok());
  ASSERT_EQ(Asides().size(), 2u);
  EXPECT_NE(Asides()[0].find(DayName(kTestDay - 2)), std::string::npos);
  EXPECT_EQ(Asides()[1], "b");
  EXPECT_TRUE(HasNotice("/a was removed"));
}

TEST_F(RetireTest, SeriesThatAreGoneTakeNoPlace) {
  options_.retention.age_ms = 5 * kDayMs;
  options_.series_max = 2;
  Open();
  Append(TestBatch().Service("a").Rows(1, now_ - kDayMs));
  Append(TestBatch().Service("b").Rows(1, now_));
  EXPECT_EQ(Append(TestBatch().Service("c").Rows(1, now_)).rows_overflowed, 1u);
  EXPECT_EQ(store_->Status().series, 3u);
  ASSERT_TRUE(store_->Settle().ok());
  now_ += 5 * kDayMs;
  ASSERT_TRUE(store_->Maintain().ok());  // the day of a is gone
  EXPECT_EQ(store_->Status().series, 2u);
  EXPECT_EQ(Append(TestBatch().Service("d").Rows(1, now_)).rows_overflowed, 0u);
  EXPECT_EQ(Append(TestBatch().Service("e").Rows(1, now_)).rows_overflowed, 1u);
  EXPECT_EQ(Append(TestBatch().Service("b").Rows(1, now_)).rows_overflowed, 0u);
  EXPECT_EQ(store_->Status().series, 3u);
  Open();
  EXPECT_EQ(store_->Status().series, 3u);
  EXPECT_EQ(Append(TestBatch().Service("e").Rows(1, now_)).rows_overflowed, 1u);
}

// Rows that were refused leave nothing behind, nor do those of a volume that is merged.
TEST_F(RetireTest, SeriesAreCountedOnceWhateverBecomesOfTheirVolumes) {
  Open();
  Append(TestBatch().Service("a").Rows(1, now_));
  ASSERT_TRUE(store_->Settle().ok());
  Append(TestBatch().Service("a").Rows(1, now_));
  Append(TestBatch().Service("b").Rows(1, now_));
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(store_->disk_status().volumes, 1u);
  EXPECT_EQ(store_->Status().series, 2u);
  options_.retention.age_ms = 5 * kDayMs;
  Open();
  EXPECT_EQ(Append(TestBatch().Service("old").Rows(1, now_ - 6 * kDayMs)).rows_too_old, 1u);
  EXPECT_EQ(store_->Status().series, 2u);
}

TEST_F(RetireTest, RemovedVolumesAreForgottenWhenTheirFoldersAreGone) {
  options_.retention.age_ms = 5 * kDayMs;
  Fill(3);
  now_ += 7 * kDayMs;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(store_->Maintain().ok());
  const std::string path = options_.folder + "/state.json";
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find("\"removed\":[]"), std::string::npos) << text;
  EXPECT_EQ(store_->Status().rows_expired, 2'700u);
  ExpectBalance();
}

}  // namespace
}  // namespace vesta::store
