#include "src/cli/index_image.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/cli/settings/commands.h"

namespace vesta::cli {
namespace {

using Arguments = std::vector<std::string>;

TEST(IndexImageTest, ReadsItsArguments) {
  const auto options = ParseIndexImage(
      {"--image-fd", "3", "--index-fd", "4", "--path", "/bin/a", "--root", "/proc/7/root", "--root",
       "/", "--memory-bytes", "400", "--identity", "gnu:ab", "--debuginfod", "http://127.0.0.1:1"});
  ASSERT_TRUE(options.ok()) << options.error().message();
  EXPECT_EQ(options->image_fd, 3);
  EXPECT_EQ(options->index_fd, 4);
  EXPECT_EQ(options->identity, "gnu:ab");
  EXPECT_EQ(options->memory_bytes_max, 400u);
  EXPECT_EQ(options->request.index_memory_bytes_max, 300u);
  EXPECT_EQ(options->request.files.image_path, "/bin/a");
  EXPECT_EQ(options->request.files.roots, Arguments({"/proc/7/root", "/"}));
  EXPECT_EQ(options->request.files.debuginfod.urls, Arguments({"http://127.0.0.1:1"}));
}

TEST(IndexImageTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(ParseIndexImage({}).ok());
  EXPECT_FALSE(ParseIndexImage({"--image-fd", "3"}).ok());
  EXPECT_FALSE(ParseIndexImage({"--image-fd", "3", "--index-fd"}).ok());
  EXPECT_FALSE(ParseIndexImage({"--image-fd", "3x", "--index-fd", "4"}).ok());
  EXPECT_FALSE(ParseIndexImage({"--image-fd", "3", "--index-fd", "4", "--other", "5"}).ok());
}

TEST(IndexImageTest, NoHelpShowsIt) {
  EXPECT_EQ(FindCommand(kIndexImageCommand), nullptr);
  EXPECT_EQ(OverviewHelp().find(kIndexImageCommand), std::string::npos);
}

}  // namespace
}  // namespace vesta::cli
