// Single rules of the contract, each a test of its own.
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/store/contract/contract_answers.h"
#include "src/store/contract/contract_data.h"
#include "src/store/contract/contract_places.h"
#include "src/store/contract/store_contract.h"

namespace vesta::store {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

using Place = ContractPlace;
using World = ContractRun;

const std::vector<Place>& Places() { return ContractPlaces(); }

template <typename Block>
base::Result<void> Ignore(const Block& /*block*/) {
  return {};
}

// The error codes of all reads with these limits, by name; "ok" where there is none.
std::vector<std::string> ErrorsOf(Store& store, ReadRequest request, const ReadLimits& limits) {
  request.limits = limits;
  request.range = {kContractNowUnixMs - kContractDayMs, kContractNowUnixMs + kContractDayMs};
  ReadReport report;
  std::vector<std::string> names;
  const auto add = [&](const auto& result) {
    names.push_back(result.ok() ? "ok" : base::ErrorCodeName(result.error().code()));
  };
  add(store.Stacks(request, &report, Ignore<StackBlock>));
  add(store.Functions(request, &report, Ignore<FunctionBlock>));
  add(store.Timeline(request, 60'000, &report));
  add(store.Rows(request, &report, Ignore<RowBlock>));
  add(store.Series(request.range, limits, &report));
  return names;
}

std::vector<std::string> FiveTimes(base::ErrorCode code) {
  return std::vector<std::string>(5, base::ErrorCodeName(code));
}

using base::ErrorCode;

TEST_P(StoreContract, AnEmptyStoreAnswersNothing) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    world.GoTo(place);
    EXPECT_EQ(world.Totals(), (ContractTotals{0, 0}));
    const auto all = AskForAll(world.store());
    ASSERT_TRUE(all.ok());
    EXPECT_TRUE(all->types.empty());
    EXPECT_TRUE(all->groups.empty());
    const StoreStatus status = world.store().Status();
    EXPECT_EQ(status.rows, 0u);
    EXPECT_EQ(status.series, 0u);
    EXPECT_EQ(status.days, 0u);
    EXPECT_EQ(status.range, std::nullopt);
    EXPECT_EQ(status.book.rows_received, 0u);
  }
}

TEST_P(StoreContract, AnEmptyBatchIsNoRows) {
  World world(GetParam());
  EXPECT_EQ(world.Append({}).rows_received, 0u);
  Batch named;
  named.id = BatchId{"agent", "boot", 1};
  EXPECT_EQ(world.Append(named).rows_kept, 0u);
  EXPECT_EQ(world.store().Status().rows, 0u);
}

TEST_P(StoreContract, ABatchTwiceIsCountedOnceWhereverItsRowsAre) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    const auto given = SimpleBatch({{10, 1}, {20, 2}});
    given->batch.id = BatchId{"agent", "boot", 1};
    EXPECT_EQ(world.Append(given->batch).rows_kept, 2u);
    world.GoTo(place);
    // A store that keeps nothing is as it was.
    const AppendOutcome again = world.Append(given->batch);
    EXPECT_EQ(again.rows_received, 2u);
    EXPECT_EQ(again.rows_duplicate, 2u);
    EXPECT_EQ(again.rows_kept, 0u);
    EXPECT_EQ(world.Totals(), (ContractTotals{30, 3}));
    EXPECT_EQ(world.store().Status().book.rows_duplicate, 2u);
    EXPECT_EQ(world.store().Status().book.rows_received, 4u);
  }
}

TEST_P(StoreContract, ABatchOverMidnightIsCountedOnce) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    const auto given = SimpleBatch({{10, 1, kContractNowUnixMs},
                                    {20, 2, kContractNowUnixMs - kContractDayMs},
                                    {40, 4, kContractNowUnixMs - 3 * kContractDayMs}});
    given->batch.id = BatchId{"agent", "boot", 1};
    EXPECT_EQ(world.Append(given->batch).rows_kept, 3u);
    world.GoTo(place);
    EXPECT_EQ(world.Append(given->batch).rows_duplicate, 3u);
    EXPECT_EQ(world.Totals(), (ContractTotals{70, 7}));
  }
}

// It has no times but those of its arrival, and is sent again after midnight.
TEST_P(StoreContract, ABatchWithTimesOfArrivalIsCountedOnceOverMidnight) {
  constexpr int64_t kMidnight = kContractNowUnixMs / kContractDayMs * kContractDayMs;
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    const auto given = SimpleBatch({{10, 1, kMidnight - 1'000}, {20, 2, kMidnight - 1'000}});
    given->batch.id = BatchId{"agent", "boot", 1};
    given->batch.has_times_of_arrival = true;
    EXPECT_EQ(world.Append(given->batch).rows_kept, 2u);
    world.GoTo(place);
    const auto again = SimpleBatch({{10, 1, kMidnight + 1'000}, {20, 2, kMidnight + 1'000}});
    again->batch.id = given->batch.id;
    again->batch.has_times_of_arrival = true;
    EXPECT_EQ(world.Append(again->batch).rows_duplicate, 2u);
    EXPECT_EQ(world.Totals(), (ContractTotals{30, 3}));
    again->batch.id->sequence = 2;
    EXPECT_EQ(world.Append(again->batch).rows_kept, 2u);
  }
}

TEST_P(StoreContract, EachPartOfABatchsNameTellsItApart) {
  World world(GetParam());
  const auto given = SimpleBatch({{1, 1}});
  for (const BatchId& id :
       {BatchId{"agent", "boot", 1}, BatchId{"agent", "boot", 2}, BatchId{"agent", "again", 1},
        BatchId{"other", "boot", 1}, BatchId{"", "", 0}, BatchId{"agentboot", "", 1}}) {
    given->batch.id = id;
    EXPECT_EQ(world.Append(given->batch).rows_kept, 1u);
  }
  given->batch.id.reset();
  EXPECT_EQ(world.Append(given->batch).rows_kept, 1u);
  EXPECT_EQ(world.Append(given->batch).rows_kept, 1u);
  EXPECT_EQ(world.Totals(), (ContractTotals{8, 8}));
}

TEST_P(StoreContract, ABadBatchIsRefusedAsAWhole) {
  World world(GetParam());
  const auto given = SimpleBatch({{1, 1}, {2, 1}});
  given->batch.id = BatchId{"agent", "boot", 1};
  given->batch.rows[1].series = 7;
  const auto refused = world.store().Append(given->batch);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidInput);
  EXPECT_NE(refused.error().message().find("series"), std::string::npos);
  EXPECT_EQ(world.store().Status().rows, 0u);
  EXPECT_EQ(world.store().Status().book.rows_received, 0u);
  given->batch.rows[1].series = 0;
  EXPECT_EQ(world.Append(given->batch).rows_kept, 2u) << "the refused one must not be remembered";
}

TEST_P(StoreContract, RowsTooOldOrTooNewAreCountedAndNotKept) {
  World world(GetParam());
  const int64_t oldest = kContractNowUnixMs - world.world().retention_age_ms;
  const int64_t newest = kContractNowUnixMs + kContractDayMs;
  const auto given =
      SimpleBatch({{1, 1, oldest - 1}, {2, 1, oldest}, {4, 1, newest}, {8, 1, newest + 1}});
  const AppendOutcome outcome = world.Append(given->batch);
  EXPECT_EQ(outcome.rows_received, 4u);
  EXPECT_EQ(outcome.rows_kept, 2u);
  EXPECT_EQ(outcome.rows_too_old, 1u);
  EXPECT_EQ(outcome.rows_too_new, 1u);
  EXPECT_EQ(world.Totals(), (ContractTotals{6, 2}));
}

TEST_P(StoreContract, RowsBeyondTheCapOnSeriesGoToTheOverflowSeries) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam(), 3);
    for (int i = 0; i < 3; ++i) {
      const auto given = SimpleBatch({{1, 1}}, "service " + std::to_string(i));
      EXPECT_EQ(world.Append(given->batch).rows_overflowed, 0u);
    }
    world.GoTo(place);
    for (int i = 0; i < 5; ++i) {
      const auto given = SimpleBatch({{10, 1}, {20, 1}}, "service " + std::to_string(i));
      const AppendOutcome outcome = world.Append(given->batch);
      EXPECT_EQ(outcome.rows_kept, 2u);
      EXPECT_EQ(outcome.rows_overflowed, i < 3 ? 0u : 2u);
    }
    const auto answer = SeriesAnswer(world.store(), {});
    ASSERT_TRUE(answer.ok());
    const std::string type = " cpu/nanoseconds/samples// : ";
    EXPECT_EQ(*answer, (ContractAnswer{"{service.name=service 0,}" + type + "31 3",
                                       "{service.name=service 1,}" + type + "31 3",
                                       "{service.name=service 2,}" + type + "31 3",
                                       "{vesta.overflow=true,}" + type + "60 4"}));
    EXPECT_EQ(world.store().Status().series, 4u);
    EXPECT_EQ(world.store().Status().book.rows_overflowed, 4u);
  }
}

TEST_P(StoreContract, SumsStopAtTheLargestInt64) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    world.Append(SimpleBatch({{kMax, kMax}})->batch);
    world.Append(
        SimpleBatch({{kMax, 1}, {1, kMax}, {5, 5, kContractNowUnixMs - kContractDayMs}})->batch);
    world.GoTo(place);
    auto all = AskForAll(world.store());
    ASSERT_TRUE(all.ok());
    const ContractTotals wanted = {kMax, kMax};
    const auto stacks = StacksTotals(world.store(), *all);
    const auto series = SeriesTotals(world.store(), {});
    const auto functions = FunctionsAnswer(world.store(), *all);
    all->range = {kContractNowUnixMs - 2 * kContractDayMs, kContractNowUnixMs + 1};
    const auto timeline = TimelineTotals(world.store(), *all);
    ASSERT_TRUE(stacks.ok() && series.ok() && timeline.ok() && functions.ok());
    EXPECT_EQ(*stacks, wanted);
    EXPECT_EQ(*series, wanted);
    EXPECT_EQ(*timeline, wanted);
    const std::string max = " " + std::to_string(kMax);
    EXPECT_EQ(*functions, (ContractAnswer{"group 0 main|| : 0" + max + " 0" + max,
                                          "group 0 work|| :" + max + max + max + max}));
  }
}

TEST_P(StoreContract, RowsOfValue0KeepTheirCounts) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    world.Append(SimpleBatch({{0, 3}, {7, 0}})->batch);
    world.Append(SimpleBatch({{0, 2}}, "only counts")->batch);
    world.GoTo(place);
    EXPECT_EQ(world.Totals(), (ContractTotals{7, 5}));
    const auto answer = SeriesAnswer(world.store(), {});
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->size(), 2u);
    EXPECT_EQ(world.store().Status().rows, 3u);
  }
}

TEST_P(StoreContract, NamesThatAreNoUtf8DoNotStopABatch) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    const auto given = SimpleBatch({{1, 1}});
    profile::Profile& profile = given->profile;
    profile::Function function;
    function.name = profile.InternString("bad \xff\xc3(");
    function.file = profile.InternString(std::string_view("nul\0file", 8));
    const std::vector<profile::Line> lines = {{profile.InternFunction(function), 1, 0}};
    profile::Location location;
    location.lines = lines;
    const std::vector<profile::LocationId> stack = {profile.InternLocation(location)};
    given->batch.rows[0].stack = profile.InternStack(stack);
    world.Append(given->batch);
    world.GoTo(place);
    EXPECT_EQ(world.Totals(), (ContractTotals{1, 1}));
    const auto all = AskForAll(world.store());
    ASSERT_TRUE(all.ok());
    const auto functions = FunctionsAnswer(world.store(), *all);
    ASSERT_TRUE(functions.ok()) << functions.error().message();
    ASSERT_EQ(functions->size(), 1u);
    EXPECT_NE((*functions)[0].find("bad "), std::string::npos);
  }
}

TEST_P(StoreContract, LimitsOfAReadAreKept) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    world.Append(SimpleBatch({{1, 1}, {2, 2}})->batch);
    world.GoTo(place);
    const ReadRequest request = world.RequestAll();
    EXPECT_EQ(ErrorsOf(world.store(), request, {}), std::vector<std::string>(5, "ok"));

    ReadLimits late;
    late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    EXPECT_EQ(ErrorsOf(world.store(), request, late), FiveTimes(ErrorCode::kExhausted));

    const std::atomic<bool> is_cancelled = true;
    ReadLimits cancelled;
    cancelled.cancelled = &is_cancelled;
    EXPECT_EQ(ErrorsOf(world.store(), request, cancelled), FiveTimes(ErrorCode::kUnavailable));

    // Rows may stream and Series may be cheap: only the sums must say no.
    ReadLimits small;
    small.memory_bytes_max = 1;
    const auto errors = ErrorsOf(world.store(), request, small);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(errors[i], base::ErrorCodeName(ErrorCode::kExhausted)) << i;
    }
  }
}

TEST_P(StoreContract, TimelinesNeedEndsAndAStep) {
  World world(GetParam());
  world.Append(SimpleBatch({{1, 1}})->batch);
  ReadRequest request = world.RequestAll();
  ReadReport report;
  const auto code_of = [&](TimeRange range, int64_t step_ms) {
    request.range = range;
    const auto cells = world.store().Timeline(request, step_ms, &report);
    return cells.ok() ? std::string("ok") : base::ErrorCodeName(cells.error().code());
  };
  const std::string invalid = base::ErrorCodeName(ErrorCode::kInvalidInput);
  EXPECT_EQ(code_of({}, 1'000), invalid);
  EXPECT_EQ(code_of({.from_unix_ms = 0}, 1'000), invalid);
  EXPECT_EQ(code_of({.to_unix_ms = kContractNowUnixMs}, 1'000), invalid);
  EXPECT_EQ(code_of({0, kContractNowUnixMs}, 0), invalid);
  EXPECT_EQ(code_of({0, kContractNowUnixMs}, -1), invalid);
  EXPECT_EQ(code_of({0, kContractNowUnixMs + 1}, kMax), "ok");
}

TEST_P(StoreContract, WhatASinkSaysEndsTheRead) {
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    World world(GetParam());
    world.Append(SimpleBatch({{1, 1}, {2, 2, kContractNowUnixMs - kContractDayMs}})->batch);
    world.GoTo(place);
    const ReadRequest request = world.RequestAll();
    ReadReport report;
    int calls = 0;
    const auto refuse = [&](const auto& /*block*/) -> base::Result<void> {
      ++calls;
      return base::Error(ErrorCode::kUnsupported, "enough");
    };
    const auto stacks = world.store().Stacks(request, &report, refuse);
    const auto functions = world.store().Functions(request, &report, refuse);
    const auto rows = world.store().Rows(request, &report, refuse);
    EXPECT_EQ(calls, 3);
    ASSERT_TRUE(!stacks.ok() && !functions.ok() && !rows.ok());
    EXPECT_EQ(stacks.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(functions.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(rows.error().code(), ErrorCode::kUnsupported);
  }
}

TEST_P(StoreContract, SinksMayAskForNames) {
  World world(GetParam());
  world.Append(SimpleBatch({{1, 1}})->batch);
  const ReadRequest request = world.RequestAll();
  ReadReport report;
  size_t rows = 0;
  const auto read =
      world.store().Rows(request, &report, [&](const RowBlock& block) -> base::Result<void> {
        for (const StoredRow& row : block.rows) {
          EXPECT_EQ(world.store().labels(row.series), (Labels{{"service.name", "simple"}}));
          EXPECT_EQ(world.store().type(row.type).type, "cpu");
          ++rows;
        }
        return {};
      });
  EXPECT_TRUE(read.ok());
  EXPECT_EQ(rows, 1u);
}

TEST_P(StoreContract, ARegroupIsAskedOncePerGroupAndTaskOfABlock) {
  World world(GetParam());
  const auto given = SimpleBatch({{1, 1}, {2, 1}, {4, 1}});
  given->batch.tasks.push_back({3, 4, ""});
  given->batch.rows[2].task = 1;
  world.Append(given->batch);
  ReadRequest request = world.RequestAll();
  std::vector<Task> asked;
  request.regroup = [&](uint32_t group, const Task& task) -> std::optional<uint32_t> {
    asked.push_back(task);
    return group;
  };
  ReadReport report;
  size_t blocks = 0;
  ASSERT_TRUE(world.store()
                  .Stacks(request, &report,
                          [&](const StackBlock& /*block*/) -> base::Result<void> {
                            ++blocks;
                            return {};
                          })
                  .ok());
  EXPECT_GE(asked.size(), 2u);
  EXPECT_LE(asked.size(), 2 * blocks);
}

// Writers append batches of one day whose values add up to 100; readers only ever see whole ones.
TEST_P(StoreContract, ReadsSeeWholeBatchesWhileOthersWrite) {
  World world(GetParam());
  constexpr int kWriters = 3;
  constexpr int kBatchesOfEach = 40;
  std::atomic<int> writing = kWriters;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&world, &writing, writer] {
      for (int i = 0; i < kBatchesOfEach; ++i) {
        const auto given = SimpleBatch({{60, 1}, {30, 1}, {10, 1}});
        given->batch.id = BatchId{"writer", "boot", static_cast<uint64_t>(writer * 1000 + i / 2)};
        // Every other one was sent before.
        const AppendOutcome outcome = world.Append(given->batch);
        EXPECT_EQ(outcome.rows_duplicate, i % 2 == 0 ? 0u : 3u);
      }
      --writing;
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&world, &writing] {
      ContractTotals last;
      while (writing > 0) {
        const ContractTotals now = world.Totals();
        EXPECT_EQ(now.value % 100, 0);
        EXPECT_EQ(now.count, now.value / 100 * 3);
        EXPECT_GE(now.value, last.value);
        last = now;
        world.store().Status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world.Totals(), (ContractTotals{kWriters * kBatchesOfEach / 2 * 100,
                                            kWriters * kBatchesOfEach / 2 * 3}));
}

TEST_P(StoreContract, TheSameBatchFromTwoThreadsIsCountedOnce) {
  World world(GetParam());
  for (uint64_t round = 0; round < 20; ++round) {
    std::atomic<uint64_t> kept = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&world, &kept, round] {
        const auto given = SimpleBatch({{1, 1}});
        given->batch.id = BatchId{"agent", "boot", round};
        kept += world.Append(given->batch).rows_kept;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(kept, 1u);
  }
  EXPECT_EQ(world.Totals(), (ContractTotals{20, 20}));
}

}  // namespace
}  // namespace vesta::store
