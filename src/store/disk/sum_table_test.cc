#include "src/store/disk/sum_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace vesta::store {
namespace {

using base::ErrorCode;

void ExpectSums(const std::vector<uint64_t>& keys) {
  const ReadLimits limits;
  ReadGuard guard(limits);
  ValueTable table(&guard);
  std::map<uint64_t, int64_t> expected;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto sum = table.At(keys[i]);
    ASSERT_TRUE(sum.ok());
    (*sum)->Add(static_cast<int64_t>(i), 1);
    expected[keys[i]] += static_cast<int64_t>(i);
  }
  std::map<uint64_t, int64_t> got;
  for (const ValueSum& sum : table.sums()) {
    EXPECT_TRUE(got.emplace(sum.key, sum.value).second) << "twice: " << sum.key;
  }
  EXPECT_EQ(got, expected);
}

TEST(SumTable, AddsUpKeysInOrder) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.push_back(i / 2 * 3);
  ExpectSums(keys);
}

TEST(SumTable, AddsUpListsThatAreEachInOrder) {
  std::vector<uint64_t> keys;
  for (uint64_t list = 0; list < 5; ++list) {
    for (uint64_t i = 0; i < 500; ++i) keys.push_back(list + i * 3);
  }
  ExpectSums(keys);
}

TEST(SumTable, AddsUpKeysInNoOrder) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> keys;
  for (int i = 0; i < 20'000; ++i) keys.push_back(random() % 3000);
  ExpectSums(keys);
}

TEST(SumTable, TakesItsMemoryFromTheGuard) {
  ReadLimits limits;
  limits.memory_bytes_max = 10'000;
  ReadGuard guard(limits);
  {
    ValueTable table(&guard);
    uint64_t key = 0;
    auto sum = table.At(key);
    while (sum.ok()) sum = table.At(++key);
    EXPECT_EQ(sum.error().code(), ErrorCode::kExhausted);
    EXPECT_GT(key, 100u);
    EXPECT_LE(table.sums().capacity() * sizeof(ValueSum), guard.used_bytes());
  }
  EXPECT_EQ(guard.used_bytes(), 0u);
}

}  // namespace
}  // namespace vesta::store
