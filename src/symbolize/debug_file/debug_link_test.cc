#include "src/symbolize/debug_file/debug_link.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace vesta::symbolize {
namespace {

using namespace std::string_literals;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(DebugLinkTest, NameIsFollowedByTheChecksum) {
  const auto link = ReadDebugLink(Bytes("a.debug\0\x78\x56\x34\x12"s));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->name, "a.debug");
  EXPECT_EQ(link->crc, 0x12345678u);
  // padded to a multiple of four
  EXPECT_EQ(ReadDebugLink(Bytes("abc.debug\0\0\0\x01\0\0\0"s))->crc, 1u);
}

TEST(DebugLinkTest, NamesThatLeadElsewhereAreRefused) {
  for (const std::string& name : {"/etc/shadow"s, "../a"s, ".."s, "."s, ""s, "a/b"s}) {
    std::string section = name + '\0';
    section.resize((section.size() + 3) / 4 * 4 + 4);
    EXPECT_FALSE(ReadDebugLink(Bytes(section))) << name;
  }
  std::string section(300, 'x');
  section.resize(308);
  EXPECT_FALSE(ReadDebugLink(Bytes(section)));
}

TEST(DebugLinkTest, TruncatedIsRefused) {
  const std::string section = "a.debug\0\x78\x56\x34\x12"s;
  for (size_t size = 0; size < section.size(); ++size) {
    EXPECT_FALSE(ReadDebugLink(Bytes(section).first(size))) << size;
  }
}

TEST(AlternateLinkTest, PathIsFollowedByTheBuildId) {
  const auto link = ReadAlternateLink(Bytes("/usr/lib/debug/.dwz/a\0\xab\xcd\x01"s));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->path, "/usr/lib/debug/.dwz/a");
  EXPECT_EQ(link->build_id, "abcd01");
  EXPECT_EQ(BuildIdPath(link->build_id), "usr/lib/debug/.build-id/ab/cd01.debug");
}

TEST(AlternateLinkTest, WithoutPathOrBuildIdIsRefused) {
  EXPECT_FALSE(ReadAlternateLink(Bytes("a\0\xab"s)));
  EXPECT_FALSE(ReadAlternateLink(Bytes("\0\xab\xcd"s)));
  EXPECT_FALSE(ReadAlternateLink(Bytes("abc"s)));
  EXPECT_FALSE(ReadAlternateLink(Bytes("a\0"s + std::string(65, 'x'))));
  EXPECT_FALSE(ReadAlternateLink(Bytes(std::string(5000, 'a') + "\0abcd"s)));
}

TEST(BuildIdPathTest, TooShortHasNone) {
  EXPECT_EQ(BuildIdPath(""), "");
  EXPECT_EQ(BuildIdPath("ab"), "");
}

}  // namespace
}  // namespace vesta::symbolize
