// A disk that is really full, or read-only: a small tmpfs, which only root can mount.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>

#include "src/store/disk/store_fixture.h"

namespace vesta::store {
namespace {

constexpr size_t kRows = 2'000;

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
    options_.part_rows_max = 20'000;
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

  std::string disk_;
  bool is_mounted_ = false;
};

TEST_F(FullDiskTest, WhatIsRefusedWasNotCountedAndMayComeAgain) {
  Open();
  const uint64_t refused = AppendUntilRefused(0);
  ASSERT_GT(refused, 0u);
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
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(RowCount(), static_cast<int64_t>((refused + 2) * kRows));
  Open();
  EXPECT_EQ(RowCount(), static_cast<int64_t>((refused + 2) * kRows));
  EXPECT_EQ(StackCount(), RowCount());
  EXPECT_EQ(AppendNumber(refused)->rows_duplicate, kRows);
  ExpectBalance();
  EXPECT_TRUE(notices_.empty()) << notices_.front();
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
