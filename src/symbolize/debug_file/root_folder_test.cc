#include "src/symbolize/debug_file/root_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace vesta::symbolize {
namespace {

// A root with files in it, beside a file that no look-up may reach.
class RootFolderTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "vesta-root-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    ASSERT_EQ(::mkdir((folder_ + "/root").c_str(), 0755), 0);
    ASSERT_EQ(::mkdir((folder_ + "/root/usr").c_str(), 0755), 0);
    ASSERT_EQ(::mkdir((folder_ + "/root/usr/lib").c_str(), 0755), 0);
    Write("secret", "secret");
    Write("root/usr/lib/file", "inside");
    Write("root/top", "top");
  }
  void TearDown() override {
    const std::string command = "rm -rf '" + folder_ + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
  void Write(const std::string& path, const std::string& text) {
    std::ofstream(folder_ + "/" + path) << text;
  }
  void Link(const std::string& target, const std::string& path) {
    ASSERT_EQ(::symlink(target.c_str(), (folder_ + "/root/" + path).c_str()), 0);
  }
  base::Result<std::unique_ptr<base::FileSource>> OpenFile(const std::string& path) {
    const auto root = RootFolder::Open(folder_ + "/root");
    EXPECT_TRUE(root.ok());
    return GetParam() ? root->OpenFileByWalking(path) : root->OpenFile(path);
  }
  // What the file says; the error in brackets.
  std::string Read(const std::string& path) {
    const auto file = OpenFile(path);
    if (!file.ok()) return "[" + std::string(base::ErrorCodeName(file.error().code())) + "]";
    const auto bytes = (*file)->Read(0, (*file)->size_bytes());
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }

  std::string folder_;
};

TEST_P(RootFolderTest, PathsCountFromTheRoot) {
  EXPECT_EQ(Read("/usr/lib/file"), "inside");
  EXPECT_EQ(Read("usr//lib/./file"), "inside");
  EXPECT_EQ(Read("/usr/lib/other"), "[not found]");
  EXPECT_EQ(Read("/other/file"), "[not found]");
}

TEST_P(RootFolderTest, NothingLeadsOut) {
  Link("/secret", "absolute");
  Link("../secret", "relative");
  Link(folder_ + "/secret", "whole");
  Link("..", "usr/up");
  EXPECT_EQ(Read("../secret"), "[not found]");
  EXPECT_EQ(Read("/usr/../../../../../secret"), "[not found]");
  EXPECT_EQ(Read("absolute"), "[not found]");
  EXPECT_EQ(Read("relative"), "[not found]");
  EXPECT_EQ(Read("whole"), "[not found]");
  EXPECT_EQ(Read("/usr/up/../../secret"), "[not found]");
}

TEST_P(RootFolderTest, LinksAreFollowedInsideTheRoot) {
  Link("/usr/lib", "lib");
  Link("lib/../../top", "usr/chain");
  Link("file", "usr/lib/beside");
  EXPECT_EQ(Read("/lib/file"), "inside");
  EXPECT_EQ(Read("/lib/beside"), "inside");
  EXPECT_EQ(Read("/usr/chain"), "top");
  // ".." behind a link goes up from where it leads.
  EXPECT_EQ(Read("/lib/../lib/file"), "inside");
  EXPECT_EQ(Read("/lib/../top"), "[not found]");
}

TEST_P(RootFolderTest, CircularLinksEnd) {
  Link("second", "first");
  Link("first", "second");
  EXPECT_FALSE(OpenFile("/first").ok());
}

TEST_P(RootFolderTest, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(::mkfifo((folder_ + "/root/fifo").c_str(), 0644), 0);
  EXPECT_EQ(Read("/fifo"), "[invalid input]");
  EXPECT_EQ(Read("/usr"), "[invalid input]");
  EXPECT_EQ(Read("/"), "[invalid input]");
  const auto host = RootFolder::Open("/");
  ASSERT_TRUE(host.ok());
  const auto device =
      GetParam() ? host->OpenFileByWalking("/dev/null") : host->OpenFile("/dev/null");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code(), base::ErrorCode::kInvalidInput);
}

INSTANTIATE_TEST_SUITE_P(Ways, RootFolderTest, testing::Values(false, true));

}  // namespace
}  // namespace vesta::symbolize
