#include "src/agent/unwind/table_store.h"

#include <gtest/gtest.h>

#include "src/agent/unwind/fake_kernel_tables.h"

namespace vesta::agent::unwind {
namespace {

constexpr uint32_t kBlock = ABI_TABLE_BLOCK_BYTES;

// Tables of image_id + 1 blocks.
base::Result<object::UnwindTable> BlocksById(uint32_t image_id) {
  object::UnwindTable table;
  table.words.assign(size_t{image_id + 1} * ABI_TABLE_BLOCK_WORDS, 7);
  return table;
}

TEST(TableStoreTest, LoadsOnceAndCountsBytes) {
  FakeKernelTables kernel;
  TableStore store(kernel, 100 * kBlock, BlocksById);
  ASSERT_TRUE(store.Ensure(2).ok());
  ASSERT_TRUE(store.Ensure(2).ok());
  EXPECT_EQ(store.book().loaded, 1u);
  EXPECT_EQ(store.used_bytes(), 3u * kBlock);
  EXPECT_EQ(kernel.stored.at(2).size(), size_t{3} * ABI_TABLE_BLOCK_WORDS);
}

TEST(TableStoreTest, ForgottenTablesAreNeitherEvictedNorWaitedFor) {
  FakeKernelTables kernel;
  TableStore store(kernel, 5 * kBlock, BlocksById);
  store.NextPeriod(1);
  ASSERT_TRUE(store.Ensure(1).ok());
  ASSERT_TRUE(store.Ensure(3).ok());  // evicts 1
  store.Forget(3);
  EXPECT_FALSE(store.Has(3));
  EXPECT_EQ(kernel.stored.count(3), 0u);
  EXPECT_EQ(store.used_bytes(), 0u);
  EXPECT_EQ(store.book().evicted, 1u);
  store.Forget(1);
  store.Forget(1000);
  EXPECT_TRUE(store.Ensure(1).ok()) << "it is the table of another image";
  EXPECT_TRUE(store.Ensure(2).ok());
}

TEST(TableStoreTest, EvictsTheLeastRecentlyUsed) {
  FakeKernelTables kernel;
  TableStore store(kernel, 6 * kBlock, BlocksById);
  ASSERT_TRUE(store.Ensure(0).ok());
  ASSERT_TRUE(store.Ensure(1).ok());
  store.NextPeriod(1);
  store.Touch(0);
  ASSERT_TRUE(store.Ensure(3).ok());  // 1 + 2 + 4 blocks are too many
  EXPECT_TRUE(store.Has(0));
  EXPECT_FALSE(store.Has(1));
  EXPECT_TRUE(store.Has(3));
  EXPECT_EQ(kernel.stored.count(1), 0u);
  EXPECT_EQ(store.book().evicted, 1u);
  EXPECT_LE(store.used_bytes(), 6u * kBlock);
}

TEST(TableStoreTest, EvictedTableWaitsLongerEachTimeSoThatASmallBudgetDoesNotThrash) {
  constexpr uint64_t kSecond = 1'000'000'000;
  FakeKernelTables kernel;
  TableStore store(kernel, 2 * kBlock, BlocksById);
  uint64_t now = kSecond;
  store.NextPeriod(now);
  ASSERT_TRUE(store.Ensure(0).ok());
  ASSERT_TRUE(store.Ensure(1).ok());  // evicts 0
  EXPECT_FALSE(store.Ensure(0).ok());
  EXPECT_EQ(store.book().deferred, 1u);
  store.NextPeriod(now += kSecond);
  ASSERT_TRUE(store.Ensure(0).ok());  // evicts 1
  store.NextPeriod(now += kSecond);
  ASSERT_TRUE(store.Ensure(1).ok());  // evicts 0 for the second time
  store.NextPeriod(now += kSecond);
  EXPECT_FALSE(store.Ensure(0).ok()) << "the second wait is longer";
  store.NextPeriod(now += kSecond);
  EXPECT_TRUE(store.Ensure(0).ok());
}

TEST(TableStoreTest, TableLargerThanTheBudgetIsRefusedOnceAndCounted) {
  FakeKernelTables kernel;
  int builds = 0;
  TableStore store(kernel, 4 * kBlock, [&](uint32_t image_id) {
    ++builds;
    return BlocksById(image_id);
  });
  EXPECT_EQ(store.Ensure(9).error().code(), base::ErrorCode::kExhausted);
  EXPECT_FALSE(store.Ensure(9).ok());
  EXPECT_EQ(builds, 1);
  EXPECT_EQ(store.book().refused_too_large, 1u);
  EXPECT_TRUE(kernel.stored.empty()) << "no table: walks end there and say so";
  store.SetBudget(100 * kBlock);
  EXPECT_TRUE(store.Ensure(9).ok()) << "a larger budget is another chance";
}

TEST(TableStoreTest, DamagedImageFallsBackInsteadOfBeingAskedForever) {
  FakeKernelTables kernel;
  int builds = 0;
  TableStore store(kernel, 100 * kBlock, [&](uint32_t) -> base::Result<object::UnwindTable> {
    ++builds;
    return base::Error(base::ErrorCode::kCorrupt, "garbage");
  });
  ASSERT_TRUE(store.Ensure(5).ok());
  ASSERT_TRUE(store.Ensure(5).ok());
  EXPECT_EQ(builds, 1);
  EXPECT_EQ(store.book().failed, 1u);
  EXPECT_TRUE(store.Has(5));
}

TEST(TableStoreTest, LowerBudgetEvictsAtOnce) {
  FakeKernelTables kernel;
  TableStore store(kernel, 100 * kBlock, BlocksById);
  for (uint32_t image = 0; image < 8; ++image) ASSERT_TRUE(store.Ensure(image).ok());
  store.SetBudget(10 * kBlock);
  EXPECT_LE(store.used_bytes(), 10u * kBlock);
}

TEST(TableStoreTest, ImageBeyondTheSlotsIsAnError) {
  FakeKernelTables kernel(4);
  TableStore store(kernel, 100 * kBlock, BlocksById);
  EXPECT_FALSE(store.Ensure(4).ok());
}

}  // namespace
}  // namespace vesta::agent::unwind
