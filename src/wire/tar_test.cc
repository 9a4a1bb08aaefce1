#include "src/wire/tar.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/wire/profile_file.h"

namespace vesta::wire {
namespace {

std::string Archive() {
  TarWriter writer;
  writer.Add("000000.pb.gz", "abc");
  writer.Add("empty", "");
  writer.Add(std::string(100, 'n'), std::string(512, 'x'));
  return writer.Finish();
}

TEST(Tar, WhatIsWrittenIsRead) {
  const std::string bytes = Archive();
  EXPECT_EQ(bytes.size(), 512u * (2 + 1 + 2 + 2));
  ASSERT_TRUE(IsTar(bytes));
  const auto entries = ReadTar(bytes);
  ASSERT_TRUE(entries.ok()) << entries.error().message();
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "000000.pb.gz");
  EXPECT_EQ((*entries)[0].bytes, "abc");
  EXPECT_EQ((*entries)[1].bytes, "");
  EXPECT_EQ((*entries)[2].name, std::string(100, 'n'));
  EXPECT_EQ((*entries)[2].bytes, std::string(512, 'x'));
}

TEST(Tar, AnArchiveOfNothingIsOnlyItsEnd) {
  const std::string bytes = TarWriter().Finish();
  EXPECT_EQ(bytes, std::string(1024, '\0'));
  const auto entries = ReadTar(bytes);
  ASSERT_TRUE(entries.ok());
  EXPECT_TRUE(entries->empty());
  EXPECT_FALSE(IsTar(bytes));
}

TEST(Tar, TheProgramTarAgrees) {
  const std::string folder = ::testing::TempDir() + "tar_test." + std::to_string(::getpid());
  ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
  ASSERT_TRUE(WriteWholeFile(folder + "/a.tar", Archive()).ok());
  EXPECT_EQ(
      std::system(
          ("cd " + folder + " && tar xf a.tar && test \"$(cat 000000.pb.gz)\" = abc").c_str()),
      0);
  ASSERT_EQ(std::system(("cd " + folder + " && mkdir d && tar cf b.tar d 000000.pb.gz").c_str()),
            0);
  const auto bytes = ReadWholeFile(folder + "/b.tar");
  ASSERT_TRUE(bytes.ok());
  const auto entries = ReadTar(*bytes);
  ASSERT_TRUE(entries.ok()) << entries.error().message();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].bytes, "abc");
  ASSERT_EQ(std::system(("rm -r " + folder).c_str()), 0);
}

TEST(Tar, EachTruncationIsDamage) {
  const std::string bytes = Archive();
  // The first of the two blocks at the end is enough.
  for (size_t size = 0; size < bytes.size() - 512; ++size)
    EXPECT_FALSE(ReadTar(std::string_view(bytes).substr(0, size)).ok()) << size;
}

TEST(Tar, AFlippedByteOfAHeaderIsDamage) {
  const std::string bytes = Archive();
  for (size_t i = 0; i < 512; ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x21);
    EXPECT_FALSE(ReadTar(damaged).ok()) << i;
  }
}

TEST(Tar, ASizeBeyondTheArchiveIsRefused) {
  TarWriter writer;
  writer.Add("a", std::string(600, 'x'));
  std::string bytes = writer.Finish();
  const auto entries = ReadTar(std::string_view(bytes).substr(0, 1024));
  ASSERT_FALSE(entries.ok());
  EXPECT_EQ(entries.error().message(), "the archive is damaged at byte 512: a file is cut");
}

}  // namespace
}  // namespace vesta::wire
