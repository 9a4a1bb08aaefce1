#include "src/wire/gzip.h"

#include <gtest/gtest.h>

namespace vesta::wire {
namespace {

std::string Gzip(std::string_view bytes, int level = 6) {
  GzipWriter writer(level);
  writer.Write(bytes);
  return writer.Finish();
}

TEST(GzipTest, GivesBackWhatWasWritten) {
  std::string big;
  for (size_t i = 0; i < 300'000; ++i) big += std::to_string(i * 2654435761u);
  for (const std::string& text : {std::string(), std::string("a"), big}) {
    const auto plain = Gunzip(Gzip(text), uint64_t{1} << 30);
    ASSERT_TRUE(plain.ok()) << plain.error().message();
    EXPECT_EQ(*plain, text);
  }
}

TEST(GzipTest, PiecesAndWholeGiveTheSameBytes) {
  GzipWriter writer(1);
  writer.Write("hello ");
  writer.Write("");
  writer.Write("world");
  EXPECT_EQ(writer.Finish(), Gzip("hello world", 1));
}

TEST(GzipTest, ReadsAllMembers) {
  const auto plain = Gunzip(Gzip("one ") + Gzip("") + Gzip("two"), 100);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(*plain, "one two");
}

TEST(GzipTest, RefusesEveryTruncation) {
  const std::string whole = Gzip("some text that is long enough to have a few bytes of its own");
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto plain = Gunzip(whole.substr(0, length), 1000);
    ASSERT_FALSE(plain.ok()) << length;
    EXPECT_EQ(plain.error().message(),
              "gzip data is truncated: it ends at byte " + std::to_string(length));
  }
}

TEST(GzipTest, NamesDamageAndWhatFollows) {
  std::string damaged = Gzip("some text");
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // CRC
  EXPECT_EQ(Gunzip(damaged, 1000).error().message(),
            "gzip data is damaged at byte 25: incorrect data check");
  EXPECT_EQ(Gunzip(Gzip("some text") + "junk", 1000).error().message(),
            "4 bytes that are not gzip follow the gzip data");
}

TEST(GzipTest, RefusesWhatGrowsBeyondTheLimit) {
  const std::string bomb = Gzip(std::string(size_t{8} << 20, '\0'));
  EXPECT_LT(bomb.size(), 10'000u);
  EXPECT_TRUE(Gunzip(bomb, size_t{8} << 20).ok());
  const auto refused = Gunzip(bomb, (size_t{8} << 20) - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kExhausted);
  EXPECT_EQ(refused.error().message(), "uncompressed it is larger than the limit of 8.0 MiB");
  EXPECT_TRUE(Gunzip(Gzip(""), 0).ok());
  EXPECT_FALSE(Gunzip(Gzip("x"), 0).ok());
}

TEST(GzipTest, HumanBytesUseTheLargestUnitThatFits) {
  EXPECT_EQ(HumanBytes(0), "0 bytes");
  EXPECT_EQ(HumanBytes(1023), "1023 bytes");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{4} << 30), "4.0 GiB");
}

TEST(GzipTest, StatesItsSizeUnlessThatCannotBe) {
  GzipWriter writer(6);
  writer.Write(std::string(5000, 'x'));
  std::string packed = writer.Finish();
  EXPECT_EQ(GunzippedSizeHint(packed), 5000u);
  packed[packed.size() - 1] = '\x7f';
  EXPECT_EQ(GunzippedSizeHint(packed), 0u);
  EXPECT_EQ(GunzippedSizeHint("abc"), 0u);
}

}  // namespace
}  // namespace vesta::wire
