// A disk that is really full, or read-only: a small tmpfs, which only root can mount.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "src/store/disk/store_fixture.h"
#include "src/store/disk/volume.h"
#include "src/store/duck/duck_db.h"
#include "src/store/duck/hot_file.h"

namespace vesta::store {
namespace {

constexpr size_t kRows = 6'000;

class FullDiskTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    DiskStoreTest::SetUp();
    disk_ = parent_ + "/disk";
    ASSERT_TRUE(MakeFolder(disk_).ok());
    if (::mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=12m") != 0) {
      GTEST_SKIP() << "cannot mount a tmpfs: " << std::strerror(errno);
    }
    is_mounted_ = true;
    options_.folder = disk_ + "/store";
    options_.part_rows_max = 60'000;
  }
  void TearDown() override {
    store_.reset();
    if (is_mounted_) {
      EXPECT_EQ(::umount2(disk_.c_str(), MNT_DETACH), 0);
    }
    DiskStoreTest::TearDown();
  }
  void Remount(unsigned long flags, const char* options) {
    ASSERT_EQ(::mount("tmpfs", disk_.c_str(), "tmpfs", MS_REMOUNT | flags, options), 0)
        << std::strerror(errno);
  }
  // Each batch brings a series of its own, so that the dictionary grows with it.
  base::Result<AppendOutcome> AppendNumber(uint64_t batch) {
    TestBatch rows;
    rows.Id(batch).Service("service " + std::to_string(batch));
    for (size_t i = 0; i < kRows; ++i) {
      rows.Rows(1, now_ - 1'000,
                static_cast<int64_t>((batch * kRows + i) * 2'654'435'761 % 1'000'003));
    }
    return store_->Append(rows.get());
  }
  // Returns how many were acknowledged before one was refused.
  uint64_t AppendUntilRefused(uint64_t batch) {
    for (;; ++batch) {
      const auto outcome = AppendNumber(batch);
      if (!outcome.ok()) {
        EXPECT_EQ(outcome.error().code(), base::ErrorCode::kUnavailable)
            << outcome.error().message();
        return batch;
      }
      EXPECT_EQ(outcome->rows_kept, kRows);
      if (batch > 1'000) break;
    }
    ADD_FAILURE() << "the disk takes everything";
    return batch;
  }

  void FillDisk() {
    std::ofstream file(disk_ + "/filler", std::ios::binary);
    const std::string block(4096, 'f');
    while (file << block << std::flush) {
    }
  }
  std::string HotFilePath() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.folder)) {
      if (entry.path().filename() == kHotFile) return entry.path();
    }
    return "";
  }
  // One row more in the open volume's hot file, as of a commit that nobody acknowledged.
  void CommitGhost() {
    const auto database = duck::DuckDb::Open({.temporary_folder = parent_ + "/spill"});
    ASSERT_TRUE(database.ok());
    const auto file = duck::HotFile::Open(**database, HotFilePath());
    ASSERT_TRUE(file.ok()) << file.error().message();
    const uint32_t id = 0;
    const uint32_t stack = 1;
    const int64_t time = now_;
    const int64_t one = 1;
    const float weight = 1;
    const duck::PartRows part = {1,
                                 {1,
                                  {&id, 1},
                                  {&id, 1},
                                  {&id, 1},
                                  {&stack, 1},
                                  {&time, 1},
                                  {&one, 1},
                                  {&one, 1},
                                  {&weight, 1}}};
    const duck::LedgerRow batch = {"agent", "boot", 3, 1, time};
    ASSERT_TRUE((*file)->Commit({{&part, 1}, {}, {}, {&batch, 1}}).ok());
  }

  std::string disk_;
  bool is_mounted_ = false;
};

TEST_F(FullDiskTest, WhatIsRefusedWasNotCountedAndMayComeAgain) {
  Open();
  const uint64_t refused = AppendUntilRefused(0);
  ASSERT_GT(refused, 0u);
  // The log became so long that it was to be moved into the file, for which there was no room. That
  // was no failure of a commit.
  EXPECT_GT(std::filesystem::file_size(HotFilePath() + ".wal"), duck::kLogBytesMax);
  EXPECT_EQ(RowCount(), static_cast<int64_t>(refused * kRows));
  EXPECT_EQ(StackCount(), static_cast<int64_t>(refused * kRows));
  ExpectBalance();
  (void)store_->Maintain().ok();  // sealing has no room, and must lose nothing
  EXPECT_EQ(RowCount(), static_cast<int64_t>(refused * kRows));

  Remount(0, "size=200m");
  ASSERT_TRUE(AppendNumber(refused + 1).ok());  // first, another one that the refused one preceded
  const auto again = AppendNumber(refused);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(again->rows_kept, kRows);
  const auto settled = store_->Settle();
  ASSERT_TRUE(settled.ok()) << settled.error().message();
  EXPECT_EQ(RowCount(), static_cast<int64_t>((refused + 2) * kRows));
  Open();
  EXPECT_EQ(RowCount(), static_cast<int64_t>((refused + 2) * kRows));
  EXPECT_EQ(StackCount(), RowCount());
  EXPECT_EQ(AppendNumber(refused)->rows_duplicate, kRows);
  ExpectBalance();
  EXPECT_TRUE(notices_.empty()) << notices_.front();
}

// A commit may fail although it is durable: it was refused, so it must not be there.
TEST_F(FullDiskTest, ACommitThatFailedAndIsThereIsTakenBack) {
  bool is_armed = false;
  uint64_t ghosts = 0;
  options_.step_hook = [&](std::string_view step) {
    if (is_armed && step == "commit") FillDisk();
    if (is_armed && step == "open hot file again") {
      is_armed = false;
      ASSERT_TRUE(RemoveAll(disk_ + "/filler").ok());
      CommitGhost();
      ++ghosts;
    }
  };
  Open();
  ASSERT_TRUE(AppendNumber(1).ok());
  is_armed = true;
  const auto refused = AppendNumber(2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable);
  ASSERT_EQ(ghosts, 1u);
  EXPECT_EQ(RowCount(), static_cast<int64_t>(kRows));
  EXPECT_EQ(AppendNumber(2)->rows_kept, kRows);
  EXPECT_EQ(AppendNumber(3)->rows_kept, kRows);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(RowCount(), static_cast<int64_t>(3 * kRows));
    EXPECT_EQ(StackCount(), static_cast<int64_t>(3 * kRows));
    EXPECT_EQ(store_->Status().book.rows_kept, 3 * kRows);
    ExpectBalance();
    Open();
  }
}

// Days are written one by one, and one of them fails.
TEST_F(FullDiskTest, ABatchOfTwoDaysIsCountedOnceThoughOneDayFailed) {
  options_.retention.age_ms = 7 * kDayMs;
  uint64_t commits = 0;
  uint64_t failing = 0;
  options_.step_hook = [&](std::string_view step) {
    if (step == "commit" && ++commits == failing) FillDisk();
    if (step == "open hot file again") {
      ASSERT_TRUE(RemoveAll(disk_ + "/filler").ok());
    }
  };
  Open();
  const auto batch = [this](TestBatch* rows) -> const Batch& {
    rows->Rows(3, now_ - 20 * kDayMs);  // too old
    return rows->Rows(6'000, kTestDay * kDayMs - 2'000).get();
  };
  // The first day fails, the second one has what belongs to no day.
  TestBatch named;
  failing = commits + 1;
  const auto refused = store_->Append(batch(&named.Id(1)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(store_->Status().book.rows_kept, 4'000u);
  EXPECT_EQ(store_->Status().book.rows_too_old, 3u);
  const AppendOutcome again = Append(named);
  EXPECT_EQ(again.rows_kept, 2'000u);
  EXPECT_EQ(again.rows_duplicate, 4'003u);
  // Without an id it is said that the rest must not be sent again.
  TestBatch nameless;
  failing = commits + 2;
  const auto half = store_->Append(batch(&nameless));
  ASSERT_FALSE(half.ok());
  EXPECT_EQ(half.error().code(), base::ErrorCode::kInternal);
  EXPECT_NE(half.error().message().find("2000 of 6003 rows were written"), std::string::npos)
      << half.error().message();
  EXPECT_EQ(RowCount(), 8'000);
  EXPECT_EQ(store_->Status().book.rows_too_old, 6u);
  ExpectBalance();
}

// A file that could not be opened again is tried by each append.
TEST_F(FullDiskTest, AHotFileThatWasAwayIsFoundAgain) {
  bool is_armed = false;
  std::string days = options_.folder + "/days";
  options_.step_hook = [&](std::string_view step) {
    if (is_armed && step == "commit") FillDisk();
    if (is_armed && step == "open hot file again") {
      is_armed = false;
      ASSERT_EQ(::rename(days.c_str(), (days + ".away").c_str()), 0);
    }
  };
  Open();
  ASSERT_TRUE(AppendNumber(1).ok());
  is_armed = true;
  EXPECT_FALSE(AppendNumber(2).ok());
  ASSERT_TRUE(RemoveAll(disk_ + "/filler").ok());
  EXPECT_FALSE(AppendNumber(2).ok());
  EXPECT_EQ(RowCount(), static_cast<int64_t>(kRows));
  ASSERT_EQ(::rename((days + ".away").c_str(), days.c_str()), 0);
  EXPECT_EQ(AppendNumber(2)->rows_kept, kRows);
  Open();
  EXPECT_EQ(RowCount(), static_cast<int64_t>(2 * kRows));
  ExpectBalance();
}

TEST_F(FullDiskTest, AFullDiskCanBeOpenedAndAsked) {
  Open();
  const uint64_t refused = AppendUntilRefused(0);
  store_.reset();
  const auto opened = TryOpen();
  if (!opened.ok()) {
    // Without any room the database cannot even read its log in; it must say so and lose nothing.
    EXPECT_EQ(opened.error().code(), base::ErrorCode::kUnavailable) << opened.error().message();
    Remount(0, "size=200m");
    Open();
  }
  EXPECT_EQ(RowCount(), static_cast<int64_t>(refused * kRows));
  ExpectBalance();
}

TEST_F(FullDiskTest, AReadOnlyDiskIsRefusedInPlainWordsAndHarmsNothing) {
  Open();
  ASSERT_TRUE(AppendNumber(1).ok());
  store_.reset();
  Remount(MS_RDONLY, nullptr);
  const auto opened = TryOpen();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_NE(opened.error().message().find("Read-only"), std::string::npos);
  Remount(0, nullptr);
  Open();
  EXPECT_EQ(RowCount(), static_cast<int64_t>(kRows));
  ExpectBalance();
}

}  // namespace
}  // namespace vesta::store
