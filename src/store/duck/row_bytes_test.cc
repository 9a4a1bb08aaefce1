#include "src/store/duck/row_bytes.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/store/duck/test_rows.h"

namespace vesta::store::duck {
namespace {

std::vector<uint8_t> SomeBytes(RowValues* rows) {
  for (uint32_t i = 0; i < 7; ++i) rows->Add(i % 2, i, 2 * i, 3 * i, 1'000 + i, 10 * i);
  std::vector<uint8_t> bytes;
  EncodeRows(rows->View(), &bytes);
  return bytes;
}

TEST(RowBytesTest, GivesBackWhatWasEncoded) {
  RowValues rows;
  const std::vector<uint8_t> bytes = SomeBytes(&rows);
  DecodedRows decoded;
  ASSERT_TRUE(decoded.Decode(bytes, "hot").ok());
  RowValues back;
  back.Add(decoded.View());
  EXPECT_EQ(back, rows);
}

TEST(RowBytesTest, WhatAPushSharesCostsNearlyNothing) {
  RowValues rows;
  for (uint32_t i = 0; i < 3'000; ++i) rows.Add(0, i / 1'000, 7, i * 13 % 2'999, 5, 10 * (i % 97));
  std::vector<uint8_t> bytes;
  EncodeRows(rows.View(), &bytes);
  EXPECT_LT(bytes.size(), 3'000 * 7U);
  DecodedRows decoded;
  ASSERT_TRUE(decoded.Decode(bytes, "hot").ok());
  RowValues back;
  back.Add(decoded.View());
  EXPECT_EQ(back, rows);
}

// Integers of every width, at the limits of their types.
TEST(RowBytesTest, GivesBackNumbersThatLieNearOrFar) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  for (const int64_t from : {int64_t{0}, int64_t{-3}, kLeast, kGreatest - (int64_t{1} << 40)}) {
    for (const int64_t step : {1, 255, 256, 3'000, 65'535, 70'000, 1 << 30}) {
      RowValues rows;
      for (uint32_t i = 0; i < 300; ++i) {
        const auto id = static_cast<uint32_t>(i % 2 * step);
        rows.Add(id, ~id, i % 2, i, from + i % 2 * step, kGreatest - i % 2 * step);
        rows.count.back() = i % 2 == 0 ? kLeast : kGreatest;
      }
      std::vector<uint8_t> bytes;
      EncodeRows(rows.View(), &bytes);
      DecodedRows decoded;
      ASSERT_TRUE(decoded.Decode(bytes, "hot").ok());
      RowValues back;
      back.Add(decoded.View());
      EXPECT_EQ(back, rows) << from << ' ' << step;
    }
  }
}

TEST(RowBytesTest, RefusesWhatIsNotWhole) {
  RowValues rows;
  const std::vector<uint8_t> bytes = SomeBytes(&rows);
  DecodedRows decoded;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = decoded.Decode({bytes.data(), size}, "the hot file");
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.error().code(), base::ErrorCode::kCorrupt);
    EXPECT_NE(cut.error().message().find("the hot file"), std::string::npos);
  }
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(decoded.Decode(longer, "hot").ok());
  // Counts, kinds and lengths that do not fit each other, and more rows than memory could hold.
  for (size_t i = 0; i < 5; ++i) {
    std::vector<uint8_t> wrong = bytes;
    wrong[i] = 0xff;
    EXPECT_FALSE(decoded.Decode(wrong, "hot").ok()) << i;
  }
}

}  // namespace
}  // namespace vesta::store::duck
