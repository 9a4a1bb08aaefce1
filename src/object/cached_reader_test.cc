#include "src/object/cached_reader.h"

#include <gtest/gtest.h>

#include <random>

namespace vesta::object {
namespace {

std::vector<std::byte> SomeBytes(size_t size) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(1 + random() % 255);
  return bytes;
}

TEST(CachedReaderTest, ReadsAsTheSourceDoesInAnyOrder) {
  // More than the cache holds, so that blocks are replaced.
  const std::vector<std::byte> bytes =
      SomeBytes(CachedReader::kBlockBytes * (CachedReader::kBlocks + 3) + 77);
  const base::MemorySource source(bytes);
  const uint64_t start = 1000;
  CachedReader reader(source, start, bytes.size());
  EXPECT_EQ(reader.size_bytes(), bytes.size() - start);
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t offset = random() % (reader.size_bytes() - 8);
    uint64_t expected;
    std::memcpy(&expected, bytes.data() + start + offset, sizeof(expected));
    ASSERT_EQ(reader.Read<uint64_t>(offset), expected);
  }
}

TEST(CachedReaderTest, NothingOutsideOfThePartIsRead) {
  const std::vector<std::byte> bytes = SomeBytes(100);
  const base::MemorySource source(bytes);
  CachedReader reader(source, 20, 30);
  EXPECT_TRUE(reader.Read<uint64_t>(22));
  EXPECT_FALSE(reader.Read<uint64_t>(23));
  EXPECT_FALSE(reader.Read<uint8_t>(30));
  EXPECT_FALSE(reader.Read<uint8_t>(~uint64_t{0}));
  EXPECT_EQ(reader.BlockFrom(25).size(), 5u);
  EXPECT_TRUE(reader.BlockFrom(30).empty());
  EXPECT_EQ(CachedReader(source, 200, 10).size_bytes(), 0u);
}

TEST(CachedReaderTest, StringsCrossBlocksAndAreCut) {
  std::vector<std::byte> bytes = SomeBytes(CachedReader::kBlockBytes * 2);
  const size_t end = CachedReader::kBlockBytes + 10;
  bytes[end] = std::byte{0};
  const base::MemorySource source(bytes);
  CachedReader reader(source, 0, bytes.size());
  const std::string text(reinterpret_cast<const char*>(bytes.data()), end);
  EXPECT_EQ(reader.ReadCString(end - 40, 100), text.substr(end - 40));
  EXPECT_EQ(reader.ReadCString(end - 40, 15), text.substr(end - 40, 15));
  EXPECT_EQ(reader.ReadCString(end, 100), "");
  // No NUL before the end: no string.
  EXPECT_EQ(reader.ReadCString(bytes.size() - 40, 100), "");
}

// A source that fails once for each block, as a file that shrinks and grows might.
class FailingSource final : public base::ByteSource {
 public:
  explicit FailingSource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  base::Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    if (++read_count_ % 2 == 1) return base::Error(base::ErrorCode::kUnavailable, "not now");
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
  mutable int read_count_ = 0;
};

TEST(CachedReaderTest, FailedReadIsEmptyAndNotKept) {
  const std::vector<std::byte> bytes = SomeBytes(CachedReader::kBlockBytes);
  const FailingSource source(bytes);
  CachedReader reader(source, 0, bytes.size());
  EXPECT_FALSE(reader.Read<uint32_t>(0));
  uint32_t expected;
  std::memcpy(&expected, bytes.data(), sizeof(expected));
  EXPECT_EQ(reader.Read<uint32_t>(0), expected);
}

}  // namespace
}  // namespace vesta::object
