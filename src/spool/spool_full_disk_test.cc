// A disk that is really full, or read-only: a small tmpfs, which only root can mount.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>

#include "src/spool/spool_fixture.h"

namespace vesta::spool {
namespace {

class SpoolFullDiskTest : public SpoolTest {
 protected:
  void SetUp() override {
    SpoolTest::SetUp();
    disk_ = parent_ + "/disk";
    std::filesystem::create_directory(disk_);
    if (::mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=256k") != 0) {
      GTEST_SKIP() << "cannot mount a tmpfs: " << std::strerror(errno);
    }
    is_mounted_ = true;
    options_.folder = disk_ + "/spool";
    options_.file_bytes_max = 30'000;
  }
  void TearDown() override {
    spool_.reset();
    if (is_mounted_) {
      EXPECT_EQ(::umount2(disk_.c_str(), MNT_DETACH), 0);
    }
    SpoolTest::TearDown();
  }
  void Remount(unsigned long flags, const char* options) {
    ASSERT_EQ(::mount("tmpfs", disk_.c_str(), "tmpfs", MS_REMOUNT | flags, options), 0)
        << std::strerror(errno);
  }
  // Returns the number of the first record that was not taken.
  uint64_t AppendUntilFull(uint64_t number) {
    for (;; ++number) {
      const auto appended = TryAppend(number);
      if (!appended.ok()) {
        EXPECT_EQ(appended.error().code(), base::ErrorCode::kExhausted)
            << appended.error().message();
        return number;
      }
      if (number > 1'000) break;
    }
    ADD_FAILURE() << "the disk takes everything";
    return number;
  }

  std::string disk_;
  bool is_mounted_ = false;
};

TEST_F(SpoolFullDiskTest, NothingIsDamagedAndItGoesOnWhenThereIsRoom) {
  Open();
  const uint64_t refused = AppendUntilFull(1);
  ASSERT_GT(refused, 100u);
  EXPECT_FALSE(TryAppend(refused).ok());
  ExpectBalance();
  EXPECT_EQ(spool_->State().waiting.records, refused - 1);
  for (uint64_t number = 1; number <= 40; ++number) EXPECT_EQ(Take(), number);  // a file's worth
  Append(refused);
  Remount(0, "size=2m");
  Append(refused + 1);
  Open();
  std::vector<uint64_t> expected;
  for (uint64_t number = 41; number <= refused + 1; ++number) expected.push_back(number);
  EXPECT_EQ(TakeAll(), expected);
  ExpectBalance();
  EXPECT_TRUE(spool_->State().lost.empty());
  EXPECT_TRUE(notices_.empty()) << notices_.front();
}

TEST_F(SpoolFullDiskTest, AFullDiskCanBeOpenedAndEmptied) {
  Open();
  const uint64_t refused = AppendUntilFull(1);
  Open();
  EXPECT_TRUE(spool_->State().lost.empty());  // nothing of what was refused is there
  EXPECT_EQ(TakeAll().size(), refused - 1);
  EXPECT_TRUE(Files().empty());
  Append(refused);
  EXPECT_EQ(Take(), refused);
}

TEST_F(SpoolFullDiskTest, AReadOnlyDiskIsRefusedInPlainWords) {
  Open();
  Append(1);
  spool_.reset();
  Remount(MS_RDONLY, nullptr);
  const auto opened = TryOpen();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), base::ErrorCode::kPermission);
  EXPECT_NE(opened.error().message().find("Read-only"), std::string::npos);
  EXPECT_NE(opened.error().message().find(options_.folder), std::string::npos);
  Remount(0, nullptr);
  Open();
  EXPECT_EQ(TakeAll(), std::vector<uint64_t>{1});
}

}  // namespace
}  // namespace vesta::spool
