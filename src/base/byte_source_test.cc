#include "src/base/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "src/base/byte_reader.h"

namespace vesta::base {
namespace {

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(ByteSourceTest, RefusesRangesOutsideEvenWhenTheSumOverflows) {
  const MemorySource source(AsBytes("abcdef"));
  EXPECT_TRUE(source.Read(2, 4).ok());
  EXPECT_FALSE(source.Read(2, 5).ok());
  EXPECT_FALSE(source.Read(std::numeric_limits<uint64_t>::max(), 2).ok());
  EXPECT_FALSE(source.Read(1, std::numeric_limits<uint64_t>::max()).ok());
}

TEST(ByteSourceTest, FileThatShrinksIsCorruptAndNotAFault) {
  char path[] = "/tmp/vesta-byte-source-XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::ftruncate(fd, 8192), 0);
  const auto source = FileSource::Open(path);
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(::ftruncate(fd, 10), 0);
  const auto bytes = (*source)->Read(0, 8192);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code(), ErrorCode::kCorrupt);
  ::close(fd);
  ::unlink(path);
}

TEST(ByteSourceTest, DoesNotWaitForAFifo) {
  const std::string path = "/tmp/vesta-fifo-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(FileSource::Open(path).ok());
  ::unlink(path.c_str());
}

TEST(ByteSourceTest, ReadsProcFilesWhoseSizeIsZero) {
  const auto text = ReadSmallFile("/proc/self/stat");
  ASSERT_TRUE(text.ok());
  EXPECT_FALSE(text->empty());
  EXPECT_EQ(ReadSmallFile("/proc/self/maps", 16).error().code(), ErrorCode::kExhausted);
}

TEST(ByteReaderTest, StaysFailedAfterTheEnd) {
  ByteReader reader(AsBytes("abc"));
  EXPECT_EQ(reader.Read<uint16_t>(), 0x6261);
  EXPECT_EQ(reader.Read<uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Read<uint8_t>(), 0u);
}

TEST(ByteReaderTest, Leb128) {
  const unsigned char bytes[] = {0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f};
  ByteReader reader(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(reader.ReadUleb128(), 624485u);
  EXPECT_EQ(reader.ReadSleb128(), -1);
  EXPECT_EQ(reader.ReadSleb128(), -128);
  EXPECT_TRUE(reader.ok());
  const std::vector<std::byte> endless(20, std::byte{0xff});
  ByteReader bad(endless);
  bad.ReadUleb128();
  EXPECT_FALSE(bad.ok());
}

TEST(ByteReaderTest, CStringNeedsItsNul) {
  ByteReader reader(AsBytes(std::string_view("ab\0cd", 5)));
  EXPECT_EQ(reader.ReadCString(), "ab");
  reader.ReadCString();
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace vesta::base
