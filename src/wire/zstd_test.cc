#include "src/wire/zstd.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "src/base/result.h"

namespace vesta::wire {
namespace {

using base::ErrorCode;

std::string Compress(const std::string& plain, int window_log = 0, bool states_size = true) {
  ZSTD_CCtx* context = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, states_size ? 1 : 0);
  if (window_log != 0) ::ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string out(::ZSTD_compressBound(plain.size()) + 64, '\0');
  ZSTD_inBuffer in{plain.data(), plain.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  // In pieces, so that no frame is one segment.
  if (!states_size) ::ZSTD_compressStream2(context, &to, &in, ZSTD_e_flush);
  EXPECT_EQ(::ZSTD_compressStream2(context, &to, &in, ZSTD_e_end), 0u);
  ::ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

std::string Text() {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "main;f" + std::to_string(i % 977) + " 1\n";
  return text;
}

TEST(ZstdTest, UnpacksWithAndWithoutAStatedSize) {
  const std::string text = Text();
  for (const bool states_size : {true, false}) {
    const std::string packed = Compress(text, 0, states_size);
    EXPECT_TRUE(IsZstd(packed));
    EXPECT_EQ(UnzstdSizeHint(packed), states_size ? text.size() : 0);
    const auto plain = Unzstd(packed, text.size());
    ASSERT_TRUE(plain.ok()) << plain.error().message();
    EXPECT_EQ(*plain, text);
  }
}

TEST(ZstdTest, UnpacksFramesOneAfterAnother) {
  const auto plain = Unzstd(Compress("a;b 1\n") + Compress("") + Compress("c 2\n"), 100);
  ASSERT_TRUE(plain.ok()) << plain.error().message();
  EXPECT_EQ(*plain, "a;b 1\nc 2\n");
}

TEST(ZstdTest, RefusesMoreThanTheLimit) {
  const std::string text = Text();
  for (const bool states_size : {true, false}) {
    const auto plain = Unzstd(Compress(text, 0, states_size), text.size() - 1);
    ASSERT_FALSE(plain.ok());
    EXPECT_EQ(plain.error().code(), ErrorCode::kExhausted);
  }
}

TEST(ZstdTest, RefusesABombBeforeItIsUnpacked) {
  const std::string bomb = Compress(std::string(64 << 20, '\0'), 0, false);
  ASSERT_LT(bomb.size(), 16'384u);
  const auto plain = Unzstd(bomb, 1 << 20);
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().code(), ErrorCode::kExhausted);
}

TEST(ZstdTest, RefusesAWindowThatNeedsMoreMemoryThanTheContent) {
  const auto plain = Unzstd(Compress(Text(), 27, false), 1 << 20);
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().code(), ErrorCode::kUnsupported);
}

TEST(ZstdTest, SaysThatItIsTruncatedWhereverItEnds) {
  const std::string packed = Compress("main;parse;read 17\n", 0, false);
  for (size_t size = 0; size < packed.size(); ++size) {
    const auto plain = Unzstd(std::string_view(packed).substr(0, size), 1000);
    ASSERT_FALSE(plain.ok()) << size;
    EXPECT_EQ(plain.error().code(), ErrorCode::kCorrupt) << size;
  }
}

TEST(ZstdTest, SaysWhatFollowsTheData) {
  const auto plain = Unzstd(Compress("x 1\n") + "tail", 1000);
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().code(), ErrorCode::kCorrupt);
  EXPECT_NE(plain.error().message().find("4 bytes"), std::string::npos);
}

TEST(ZstdTest, DoesNotTrustAStatedSizeThatCannotBe) {
  // A frame of one segment that states 2^60 bytes.
  const std::string frame("\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\x01\0\0", 16);
  EXPECT_EQ(UnzstdSizeHint(frame), 0u);
  EXPECT_FALSE(Unzstd(frame, 1 << 20).ok());
}

// Like two batches of an agent: mostly the same, in another order.
std::string Names(unsigned first) {
  std::string text;
  for (unsigned i = 0; i < 3000; ++i) {
    unsigned hash = (first + i) * 2654435761u;
    for (int letter = 0; letter < 40; ++letter, hash = hash * 1664525u + 1013904223u)
      text += static_cast<char>('a' + (hash >> 24) % 26);
  }
  return text;
}

TEST(ZstdTest, PacksAndUnpacksWithoutAPrefix) {
  for (const std::string& text : {std::string(), std::string("a"), Text()}) {
    const std::string packed = Zstd(text);
    EXPECT_EQ(UnzstdSizeHint(packed), text.size());
    const auto plain = Unzstd(packed, text.size());
    ASSERT_TRUE(plain.ok()) << plain.error().message();
    EXPECT_EQ(*plain, text);
  }
}

TEST(ZstdTest, WhatThePrefixHoldsCostsLittle) {
  const std::string before = Names(0);
  const std::string now = Names(300);
  const std::string alone = Zstd(now);
  for (const int level : {1, 3}) {
    const std::string after = Zstd(now, level, before);
    EXPECT_LT(after.size() * 5, alone.size());
    const auto plain = Unzstd(after, now.size(), before);
    ASSERT_TRUE(plain.ok()) << plain.error().message();
    EXPECT_EQ(*plain, now);
  }
}

TEST(ZstdTest, AnotherPrefixIsDamageAndNeverOtherText) {
  const std::string before = Names(0);
  const std::string now = Names(300);
  const std::string packed = Zstd(now, 3, before);
  std::string changed = before;
  changed[20'000] ^= 1;
  for (const std::string& prefix :
       {std::string(), Names(1), before.substr(0, before.size() - 1), changed}) {
    const auto plain = Unzstd(packed, now.size(), prefix);
    ASSERT_FALSE(plain.ok());
    EXPECT_EQ(plain.error().code(), ErrorCode::kCorrupt) << plain.error().message();
  }
  EXPECT_EQ(Unzstd(packed, now.size() - 1, before).error().code(), ErrorCode::kExhausted);
  for (size_t size = 5; size < packed.size(); size += 97)
    EXPECT_FALSE(Unzstd(std::string_view(packed).substr(0, size), now.size(), before).ok());
}

TEST(ZstdTest, APrefixBeyondTheWindowIsLeftOut) {
  const std::string before(size_t{8} << 20, 'x');
  const std::string now = Text();
  const auto plain = Unzstd(Zstd(now, 3, before), now.size());
  ASSERT_TRUE(plain.ok()) << plain.error().message();
  EXPECT_EQ(*plain, now);
}

}  // namespace
}  // namespace vesta::wire
