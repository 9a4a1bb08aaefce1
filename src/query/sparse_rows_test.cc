#include "src/query/sparse_rows.h"

#include <gtest/gtest.h>

namespace vesta::query {
namespace {

TEST(SparseRows, HaveWhatWasWrittenAndElseNothing) {
  SparseRows<uint32_t> rows;
  rows.At(3'000'000) = 7;
  rows.At(255) = 8;
  EXPECT_EQ(rows.At(3'000'000), 7u);
  EXPECT_EQ(rows.At(255), 8u);
  EXPECT_EQ(rows.At(256), 0u);
  EXPECT_EQ(rows.At(2'999'999), 0u);
}

TEST(SparseRows, StayWhereTheyAre) {
  SparseRows<uint32_t> rows;
  uint32_t& row = rows.At(5);
  rows.At(1'000'000) = 1;
  row = 9;
  EXPECT_EQ(rows.At(5), 9u);
}

TEST(SparseRows, CostWhatWasTouched) {
  SparseRows<uint64_t> rows;
  rows.At(1'000'000) = 1;
  EXPECT_LT(rows.memory_bytes(), 1'000'000u);
  EXPECT_GE(rows.memory_bytes(), 256 * sizeof(uint64_t));
  rows.Clear();
  EXPECT_EQ(rows.memory_bytes(), 0u);
  EXPECT_EQ(rows.At(1'000'000), 0u);
}

}  // namespace
}  // namespace vesta::query
