#include "src/query/stored_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/store/contract/contract_data.h"
#include "src/store/memory/memory_store.h"

namespace vesta::query {
namespace {

using store::ContractRandom;

size_t CountStored(store::Store& store, const store::Batch& batch) {
  const auto found = FindStoredRows(store, {}, batch);
  EXPECT_TRUE(found.ok()) << found.error().message();
  return static_cast<size_t>(std::ranges::count(*found, true));
}

TEST(StoredRowsTest, EachRowThatAStoreHasIsThereOnce) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ContractRandom random(seed);
    store::MemoryStore whole{store::MemoryStoreOptions{}};
    store::MemoryStore part{store::MemoryStoreOptions{}};
    const auto given = store::RandomBatch(&random, {.has_odd_times = false}, 1);
    const store::Batch& batch = given->batch;
    ASSERT_TRUE(whole.Append(batch).ok());
    EXPECT_EQ(CountStored(whole, batch), batch.rows.size());
    EXPECT_EQ(CountStored(part, batch), 0u);
    store::Batch twice = batch;
    twice.rows.insert(twice.rows.end(), batch.rows.begin(), batch.rows.end());
    EXPECT_EQ(CountStored(whole, twice), batch.rows.size());
    store::Batch half = batch;
    half.rows.resize((batch.rows.size() + 1) / 2);
    ASSERT_TRUE(part.Append(half).ok());
    EXPECT_EQ(CountStored(part, batch), half.rows.size());
  }
}

TEST(StoredRowsTest, AnyDifferenceIsAnotherRow) {
  store::MemoryStore store{store::MemoryStoreOptions{}};
  const auto given = store::SimpleBatch({{.value = 5, .count = 2}});
  given->batch.id.reset();
  ASSERT_TRUE(store.Append(given->batch).ok());
  ASSERT_EQ(CountStored(store, given->batch), 1u);
  const auto expect_other = [&](const auto& change) {
    store::Batch other = given->batch;
    change(other);
    EXPECT_EQ(CountStored(store, other), 0u);
  };
  expect_other([](store::Batch& batch) { ++batch.rows[0].time_unix_ms; });
  expect_other([](store::Batch& batch) { ++batch.rows[0].value; });
  expect_other([](store::Batch& batch) { ++batch.rows[0].count; });
  expect_other([](store::Batch& batch) { batch.rows[0].weight = 2; });
  expect_other([](store::Batch& batch) { batch.rows[0].stack = {}; });
  expect_other([](store::Batch& batch) { ++batch.tasks[0].tid; });
  expect_other([](store::Batch& batch) { batch.tasks[0].thread += "x"; });
  expect_other([](store::Batch& batch) { batch.series[0].push_back({"z", "y"}); });
  expect_other([](store::Batch& batch) { batch.types[0].unit += "x"; });
}

}  // namespace
}  // namespace vesta::query
