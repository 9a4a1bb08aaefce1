// Appends, reads and maintenance at the same time. Runs under TSan, too; DuckDB itself is not
// instrumented there and looks like a race to it, so what has DuckDB on its stack is not told.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "src/store/disk/store_fixture.h"

extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libduckdb.so\nmutex:libduckdb.so\ndeadlock:libduckdb.so\nthread:libduckdb.so\n";
}

namespace vesta::store {
namespace {

constexpr uint64_t kAppenders = 3;
constexpr uint64_t kBatches = 40;
constexpr size_t kRows = 50;

class DiskThreadsTest : public DiskStoreTest {
 protected:
  void AppendAll(uint64_t appender) {
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
      TestBatch rows;
      // Each batch is of one hour; every third comes late, from a day that may be closed by then.
      const int64_t late = batch % 3 == 0 ? kDayMs : 0;
      rows.Id(appender * kBatches + batch)
          .Service("s" + std::to_string(batch % 4))
          .Rows(kRows, kTestNow - late - static_cast<int64_t>(batch % 5) * 3'600'000);
      EXPECT_EQ(Append(rows).rows_kept, kRows);
      if (batch % 4 != 0) continue;
      EXPECT_EQ(Append(rows).rows_duplicate, kRows);
    }
  }

  // Rows and sums of whatever is there: batches whole or not at all, and never fewer than before.
  void ReadUntil(const std::atomic<bool>& is_done) {
    int64_t before = 0;
    while (!is_done) {
      ReadReport report;
      for (const bool by_rows : {false, true}) {
        const int64_t count = Count(by_rows, &report);
        EXPECT_EQ(count % static_cast<int64_t>(kRows), 0);
        EXPECT_GE(count, before);
        before = count;
      }
      EXPECT_TRUE(report.notes.empty()) << report.notes.front();
      EXPECT_GE(store_->Status().book.rows_kept, static_cast<uint64_t>(before));
    }
  }

  int64_t Count(bool by_rows, ReadReport* report) {
    int64_t count = 0;
    const ReadRequest request = All();
    const auto done = by_rows ? store_->Rows(request, report,
                                             [&](const RowBlock& block) {
                                               count += static_cast<int64_t>(block.rows.size());
                                               return base::Result<void>();
                                             })
                              : store_->Stacks(request, report, [&](const StackBlock& block) {
                                  for (const StackSum& sum : block.sums) count += sum.count;
                                  return base::Result<void>();
                                });
    EXPECT_TRUE(done.ok()) << done.error().message();
    return count;
  }
};

TEST_F(DiskThreadsTest, AppendsReadsAndMaintenanceTogether) {
  options_.part_rows_max = 300;
  options_.open_volumes_max = 1;
  options_.maintenance_period_ms = 1;
  Open();
  // All series and types are there from the start, so that a read asks for all of them.
  for (uint64_t service = 0; service < 4; ++service) {
    Append(TestBatch().Service("s" + std::to_string(service)).Rows(kRows, kTestNow));
  }
  std::atomic<bool> is_done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) readers.emplace_back([this, &is_done] { ReadUntil(is_done); });
  std::vector<std::thread> appenders;
  for (uint64_t i = 0; i < kAppenders; ++i) {
    appenders.emplace_back([this, i] { AppendAll(i); });
  }
  for (std::thread& thread : appenders) thread.join();
  is_done = true;
  for (std::thread& thread : readers) thread.join();
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(RowCount(), static_cast<int64_t>((kAppenders * kBatches + 4) * kRows));
  EXPECT_EQ(StackCount(), RowCount());
  EXPECT_TRUE(notices_.empty());
  ExpectBalance();
}

}  // namespace
}  // namespace vesta::store
