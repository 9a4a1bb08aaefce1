#include "src/object/compressed_section.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <string>
#include <vector>

namespace vesta::object {
namespace {

constexpr uint32_t kZlib = 1;
constexpr uint32_t kZstd = 2;

std::string Content() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * i) + ",";
  return text;
}

std::vector<std::byte> Stored(uint32_t type, const std::string& content, uint64_t said_bytes) {
  Elf64_Chdr header{};
  header.ch_type = type;
  header.ch_size = said_bytes;
  header.ch_addralign = 8;
  std::vector<std::byte> stored(sizeof(header) + content.size() + 1024);
  std::memcpy(stored.data(), &header, sizeof(header));
  size_t size = 0;
  if (type == kZlib) {
    uLongf packed = stored.size() - sizeof(header);
    EXPECT_EQ(::compress(reinterpret_cast<Bytef*>(stored.data() + sizeof(header)), &packed,
                         reinterpret_cast<const Bytef*>(content.data()), content.size()),
              Z_OK);
    size = packed;
  } else {
    size = ::ZSTD_compress(stored.data() + sizeof(header), stored.size() - sizeof(header),
                           content.data(), content.size(), 3);
  }
  stored.resize(sizeof(header) + size);
  return stored;
}

class CompressedSectionTest : public testing::TestWithParam<uint32_t> {};

TEST_P(CompressedSectionTest, GivesTheBytesBack) {
  const std::string content = Content();
  const auto section = DecompressSection(Stored(GetParam(), content, content.size()), 1 << 20);
  ASSERT_TRUE(section.ok()) << section.error().message();
  ASSERT_EQ(section->size_bytes, content.size());
  EXPECT_EQ(std::memcmp(section->bytes.get(), content.data(), content.size()), 0);
}

TEST_P(CompressedSectionTest, RefusesWhatIsTooLarge) {
  const std::string content = Content();
  const auto stored = Stored(GetParam(), content, content.size());
  EXPECT_TRUE(DecompressSection(stored, content.size()).ok());
  const auto section = DecompressSection(stored, content.size() - 1);
  ASSERT_FALSE(section.ok());
  EXPECT_EQ(section.error().code(), base::ErrorCode::kExhausted);
}

TEST_P(CompressedSectionTest, RefusesAnotherSizeThanPromised) {
  const std::string content = Content();
  for (const uint64_t said : {content.size() - 1, content.size() + 1}) {
    const auto section = DecompressSection(Stored(GetParam(), content, said), 1 << 20);
    ASSERT_FALSE(section.ok()) << said;
    EXPECT_EQ(section.error().code(), base::ErrorCode::kCorrupt);
  }
}

TEST_P(CompressedSectionTest, RefusesPromisesBeforeItAllocates) {
  const auto section = DecompressSection(Stored(GetParam(), "x", uint64_t{1} << 40), ~uint64_t{0});
  ASSERT_FALSE(section.ok());
  EXPECT_EQ(section.error().code(), base::ErrorCode::kCorrupt);
}

TEST_P(CompressedSectionTest, EveryTruncationIsRefused) {
  const std::string content = Content();
  const auto stored = Stored(GetParam(), content, content.size());
  for (size_t size = 0; size < stored.size(); size += 1 + size / 16) {
    EXPECT_FALSE(DecompressSection(std::span(stored).first(size), 1 << 20).ok()) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, CompressedSectionTest, testing::Values(kZlib, kZstd));

TEST(CompressedSectionOtherTest, AnotherWayIsUnsupported) {
  auto stored = Stored(kZlib, "x", 1);
  stored[0] = std::byte{3};
  const auto section = DecompressSection(stored, 1 << 20);
  ASSERT_FALSE(section.ok());
  EXPECT_EQ(section.error().code(), base::ErrorCode::kUnsupported);
}

// As .zdebug_* sections are: "ZLIB" and the size, highest byte first, in place of the ELF header.
std::vector<std::byte> Zdebug(const std::string& content, uint64_t size) {
  const auto elf = Stored(kZlib, content, size);
  std::vector<std::byte> stored;
  for (const char c : {'Z', 'L', 'I', 'B'}) stored.push_back(std::byte(c));
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    stored.push_back(static_cast<std::byte>(size >> (shift - 8)));
  }
  stored.insert(stored.end(), elf.begin() + sizeof(Elf64_Chdr), elf.end());
  return stored;
}

TEST(ZdebugSectionTest, GivesTheBytesBack) {
  const std::string content = Content();
  const auto stored = Zdebug(content, content.size());
  const auto section = ReadZdebugSection(stored, 1 << 20);
  ASSERT_TRUE(section.ok()) << section.error().message();
  ASSERT_EQ(section->size_bytes, content.size());
  std::vector<std::byte> bytes(content.size());
  ASSERT_TRUE(DecompressInto(*section, bytes).ok());
  EXPECT_EQ(std::memcmp(bytes.data(), content.data(), content.size()), 0);
  EXPECT_FALSE(DecompressInto(*section, std::span(bytes).first(bytes.size() - 1)).ok());
}

TEST(ZdebugSectionTest, DamageAndBombsAreRefused) {
  const std::string content = Content();
  const auto stored = Zdebug(content, content.size());
  EXPECT_FALSE(ReadZdebugSection(stored, content.size() - 1).ok());
  EXPECT_FALSE(ReadZdebugSection(Zdebug("x", uint64_t{1} << 40), ~uint64_t{0}).ok());
  EXPECT_FALSE(ReadZdebugSection(Stored(kZlib, content, content.size()), 1 << 20).ok());
  std::vector<std::byte> bytes(content.size());
  for (size_t size = 0; size < stored.size(); size += 1 + size / 16) {
    const auto section = ReadZdebugSection(std::span(stored).first(size), 1 << 20);
    EXPECT_FALSE(section.ok() && DecompressInto(*section, bytes).ok()) << size;
  }
}

}  // namespace
}  // namespace vesta::object
