#include "src/cli/always_on/pause_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace vesta::cli {
namespace {

constexpr int64_t kNowMs = 1'796'000'000'000;

class PauseFileTest : public testing::Test {
 protected:
  PauseFileTest() {
    char path_template[] = "/tmp/vesta-pause-XXXXXX";
    folder_ = ::mkdtemp(path_template);
  }
  ~PauseFileTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(PauseFileTest, HoldsWhileItIsThere) {
  const std::string path = folder_ + "/run/pause";
  EXPECT_FALSE(IsPaused(path, kNowMs));
  ASSERT_TRUE(WritePauseFile(path, 0).ok());
  EXPECT_TRUE(IsPaused(path, kNowMs));
  std::filesystem::remove(path);
  EXPECT_FALSE(IsPaused(path, kNowMs));
}

TEST_F(PauseFileTest, HoldsUntilItsTime) {
  const std::string path = folder_ + "/pause";
  ASSERT_TRUE(WritePauseFile(path, kNowMs / 1000 + 60).ok());
  EXPECT_TRUE(IsPaused(path, kNowMs));
  EXPECT_TRUE(IsPaused(path, kNowMs + 59'000));
  EXPECT_FALSE(IsPaused(path, kNowMs + 60'000));
}

TEST_F(PauseFileTest, WhatAnybodyTouchedHolds) {
  const std::string path = folder_ + "/pause";
  for (const char* text : {"", "until tomorrow", "x", "until 1 2"}) {
    std::ofstream(path, std::ios::trunc) << text;
    EXPECT_TRUE(IsPaused(path, kNowMs)) << text;
  }
}

TEST_F(PauseFileTest, SaysWhyItCannotBeWritten) {
  std::ofstream(folder_ + "/file") << "x";
  const auto written = WritePauseFile(folder_ + "/file/pause", 0);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message().find(folder_), std::string::npos);
}

}  // namespace
}  // namespace vesta::cli
