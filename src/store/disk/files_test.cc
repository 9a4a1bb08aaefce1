#include "src/store/disk/files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "src/base/byte_source.h"

namespace vesta::store {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "vesta_files_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(RemoveAll(folder_).ok()); }
  std::string folder_;
};

TEST_F(FilesTest, AFileIsReplacedWhole) {
  const std::string path = folder_ + "/a.json";
  ASSERT_TRUE(WriteFileAtomically(path, "first").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "second").ok());
  EXPECT_EQ(*base::ReadSmallFile(path), "second");
  EXPECT_EQ(*ListFolder(folder_), std::vector<std::string>{"a.json"});
}

TEST_F(FilesTest, AFullDiskIsUnavailableAndKeepsTheOldFile) {
  // /dev/full stands for the file aside: it takes nothing.
  const std::string path = folder_ + "/a.json";
  ASSERT_TRUE(WriteFileAtomically(path, "first").ok());
  ASSERT_EQ(::symlink("/dev/full", (path + ".tmp").c_str()), 0);
  const auto written = WriteFileAtomically(path, "second");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(*base::ReadSmallFile(path), "first");
  EXPECT_EQ(*ListFolder(folder_), std::vector<std::string>{"a.json"});  // nothing is left aside
}

TEST_F(FilesTest, OnlyAMissingSourceIsMissing) {
  std::ofstream(folder_ + "/a") << "12345";
  std::ofstream(folder_ + "/file") << "in the way";
  const auto gone = RenameDurably(folder_ + "/b", folder_ + "/c");
  ASSERT_FALSE(gone.ok());
  EXPECT_TRUE(IsDamage(gone.error()));
  const auto blocked = RenameDurably(folder_ + "/a", folder_ + "/file/a");
  ASSERT_FALSE(blocked.ok());
  EXPECT_FALSE(IsDamage(blocked.error())) << blocked.error().message();
  EXPECT_TRUE(Exists(folder_ + "/a"));
}

TEST_F(FilesTest, AFileThatIsTooLongIsNoneOfOurs) {
  std::ofstream(folder_ + "/a") << "12345";
  EXPECT_EQ(*ReadWholeFile(folder_ + "/a", 5), "12345");
  EXPECT_EQ(ReadWholeFile(folder_ + "/a", 4).error().code(), base::ErrorCode::kCorrupt);
  EXPECT_EQ(ReadWholeFile(folder_ + "/b", 4).error().code(), base::ErrorCode::kNotFound);
}

TEST_F(FilesTest, AFolderGoesWithWhatAnEarlierRemovalLeft) {
  ASSERT_TRUE(MakeFolder(folder_ + "/sub").ok());
  ASSERT_TRUE(MakeFolder(folder_ + "/sub.tmp").ok());
  std::ofstream(folder_ + "/sub/b") << "123";
  std::ofstream(folder_ + "/sub.tmp/c") << "123";
  ASSERT_TRUE(RemoveAll(folder_ + "/sub").ok());
  ASSERT_TRUE(RemoveAll(folder_ + "/sub").ok());  // it is gone already
  EXPECT_EQ(*ListFolder(folder_), std::vector<std::string>{});
}

TEST_F(FilesTest, AFileIsDescribedByItsContent) {
  std::ofstream(folder_ + "/a") << "The quick brown fox";
  const auto file = DescribeFile(folder_, "a");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes, 19u);
  // printf 'The quick brown fox' | xxhsum -H2
  EXPECT_EQ(file->xxh3_128, "b2c100c26f5d723ab7859350537dfedc");
  EXPECT_FALSE(DescribeFile(folder_, "b").ok());
  EXPECT_EQ(DescribeFile(folder_, "a", [] { return true; }).error().code(),
            base::ErrorCode::kUnavailable);
}

TEST_F(FilesTest, OneProcessHasTheLock) {
  const auto lock = FolderLock::Take(folder_);
  ASSERT_TRUE(lock.ok());
  const auto second = FolderLock::Take(folder_);  // another descriptor is as another process
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), base::ErrorCode::kBusy);
  EXPECT_NE(second.error().message().find("process " + std::to_string(::getpid())),
            std::string::npos);
}

TEST_F(FilesTest, TheLockGoesWithItsProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FolderLock::Take(folder_);
    ::_exit(lock.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(FolderLock::Take(folder_).ok());
}

TEST_F(FilesTest, BytesAreThoseOfAllFilesBelow) {
  ASSERT_TRUE(MakeFolder(folder_ + "/sub").ok());
  ASSERT_TRUE(MakeFolder(folder_ + "/sub").ok());
  std::ofstream(folder_ + "/a") << "12345";
  std::ofstream(folder_ + "/sub/b") << "123";
  EXPECT_EQ(BytesBelow(folder_), 8u);
  EXPECT_EQ(BytesBelow(folder_ + "/missing"), 0u);
}

}  // namespace
}  // namespace vesta::store
