#include "src/symbolize/debug_file/xz.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <cstring>
#include <string>

namespace vesta::symbolize {
namespace {

std::vector<std::byte> Pack(const std::string& text, uint32_t preset = 6) {
  std::vector<std::byte> packed(lzma_stream_buffer_bound(text.size()));
  size_t size = 0;
  EXPECT_EQ(::lzma_easy_buffer_encode(
                preset, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
                text.size(), reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}

std::string Text() {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i * i);
  return text;
}

TEST(XzTest, GivesTheBytesBack) {
  for (const uint32_t preset : {0u, 6u, 9u}) {
    const std::string text = Text();
    const auto bytes = UnpackXz(Pack(text, preset), 1 << 20);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    ASSERT_EQ(bytes->size(), text.size());
    EXPECT_EQ(std::memcmp(bytes->data(), text.data(), text.size()), 0);
  }
}

TEST(XzTest, BombsAreRefused) {
  const auto bytes = UnpackXz(Pack(std::string(16 << 20, '\0')), 1 << 20);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code(), base::ErrorCode::kExhausted);
}

TEST(XzTest, EveryTruncationIsRefused) {
  const auto packed = Pack(Text());
  for (size_t size = 0; size < packed.size(); size += 1 + size / 16) {
    EXPECT_FALSE(UnpackXz(std::span(packed).first(size), 1 << 20).ok()) << size;
  }
}

TEST(XzTest, DamageIsRefused) {
  for (const size_t at : {size_t{0}, size_t{6}, size_t{20}, size_t{1000}}) {
    auto packed = Pack(Text());
    packed[at] ^= std::byte{0x55};
    EXPECT_FALSE(UnpackXz(packed, 1 << 20).ok()) << at;
  }
}

}  // namespace
}  // namespace vesta::symbolize
