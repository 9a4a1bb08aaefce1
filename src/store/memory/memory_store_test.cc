#include "src/store/memory/memory_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace vesta::store {
namespace {

constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kNoonUnixMs = int64_t{20'000} * kDayMs + kDayMs / 2;

// main -> work -> {leaf, leaf inlined into work}, and what a test puts into rows.
class Given {
 public:
  Given() {
    profile_.SetSampleTypes({});
    profile::Mapping app;
    app.path = profile_.InternString("/bin/app");
    const auto mapping = profile_.AddMapping(app);
    const auto function = [&](std::string_view name) {
      return profile_.InternFunction({profile_.InternString(name), {}, {}, 0});
    };
    const std::vector<profile::Line> main_line = {{.function = function("main"), .line = 1}};
    const std::vector<profile::Line> inlined = {{.function = function("leaf"), .line = 3},
                                                {.function = function("work"), .line = 2}};
    const auto main_at =
        profile_.InternLocation({.mapping = mapping, .address = 16, .lines = main_line});
    const auto inlined_at =
        profile_.InternLocation({.mapping = mapping, .address = 32, .lines = inlined});
    const auto unnamed_at = profile_.InternLocation({.address = 48});
    main_ = profile_.InternStack(std::vector{main_at});
    inlined_ = profile_.InternStack(std::vector{inlined_at, main_at});
    recursive_ = profile_.InternStack(std::vector{main_at, unnamed_at, main_at});
    batch_.profile = &profile_;
    batch_.types = {{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"}};
    batch_.series = {{{"service.name", "a"}}, {{"service.name", "b"}}};
    batch_.tasks = {{1, 1, "one"}, {2, 2, "two"}};
  }
  void Row(uint32_t series, uint32_t task, profile::StackId stack, int64_t time_unix_ms,
           int64_t value, int64_t count = 1) {
    batch_.rows.push_back({0, series, task, stack, time_unix_ms, value, count, 1.0f});
  }

  profile::Profile profile_;
  profile::StackId main_, inlined_, recursive_;
  Batch batch_;
};

// Series 0 is group 0, series 1 is group 1.
ReadRequest RequestAll() {
  return {.types = {TypeId{0}}, .series = {{SeriesId{0}, 0}, {SeriesId{1}, 1}}, .group_count = 2};
}

// "group name self total self_count total_count"
std::vector<std::string> FunctionLines(MemoryStore& store, const ReadRequest& request) {
  std::vector<std::string> lines;
  ReadReport report;
  const auto read =
      store.Functions(request, &report, [&](const FunctionBlock& block) -> base::Result<void> {
        for (const FunctionSum& sum : block.sums) {
          const auto view = block.callables->callable(sum.callable);
          lines.push_back(std::to_string(sum.group) + " " + std::string(view->name) + "|" +
                          std::string(view->image) + " " + std::to_string(sum.self) + " " +
                          std::to_string(sum.total) + " " + std::to_string(sum.self_count) + " " +
                          std::to_string(sum.total_count));
        }
        return {};
      });
  EXPECT_TRUE(read.ok());
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(MemoryStore, CountsAFunctionOncePerSampleAndItsSelfAtTheInnermostFrame) {
  Given given;
  given.Row(0, 0, given.inlined_, kNoonUnixMs, 10, 2);
  given.Row(0, 1, given.recursive_, kNoonUnixMs + 1, 100, 3);
  given.Row(1, 0, given.main_, kNoonUnixMs + 2, 1000, 5);
  given.Row(1, 0, {}, kNoonUnixMs + 3, 7, 1);  // no frames
  MemoryStore store;
  ASSERT_TRUE(store.Append(given.batch_).ok());
  EXPECT_EQ(FunctionLines(store, RequestAll()),
            (std::vector<std::string>{"0 leaf|/bin/app 10 10 2 2", "0 main|/bin/app 100 110 3 5",
                                      "0 work|/bin/app 0 10 0 2", "0 | 0 100 0 3",
                                      "1 main|/bin/app 1000 1000 5 5"}));
}

TEST(MemoryStore, GivesABlockPerDayWithTheRowsOfTheRange) {
  Given given;
  for (int day = 0; day < 3; ++day) {
    given.Row(0, 0, given.main_, kNoonUnixMs + day * kDayMs, 1 << day);
    given.Row(0, 0, given.inlined_, kNoonUnixMs + day * kDayMs, 8 << day);
  }
  MemoryStore store;
  ASSERT_TRUE(store.Append(given.batch_).ok());
  ReadRequest request = RequestAll();
  request.range = {kNoonUnixMs, kNoonUnixMs + 2 * kDayMs};
  ReadReport report;
  std::vector<std::vector<int64_t>> blocks;
  ASSERT_TRUE(store
                  .Stacks(request, &report,
                          [&](const StackBlock& block) -> base::Result<void> {
                            EXPECT_EQ(block.parent.size(), 3u);  // root, main, work in main
                            EXPECT_EQ(block.parent[2], 1u);
                            std::vector<int64_t> values;
                            for (const StackSum& sum : block.sums) values.push_back(sum.value);
                            std::sort(values.begin(), values.end());
                            blocks.push_back(values);
                            return {};
                          })
                  .ok());
  EXPECT_EQ(blocks, (std::vector<std::vector<int64_t>>{{1, 8}, {2, 16}}));
}

TEST(MemoryStore, AddsUpASeriesByWholeMinutes) {
  Given given;
  given.Row(0, 0, given.main_, 60'000, 1);
  given.Row(0, 0, given.main_, 119'999, 2);
  given.Row(0, 0, given.main_, 120'000, 4);
  given.Row(1, 0, given.main_, 180'000, 8);
  MemoryStore store;
  ASSERT_TRUE(store.Append(given.batch_).ok());
  ReadReport report;
  const auto totals = store.Series({100'000, 119'000}, {}, &report);
  ASSERT_TRUE(totals.ok());
  ASSERT_EQ(totals->size(), 1u);
  EXPECT_EQ(store.labels((*totals)[0].series), given.batch_.series[0]);
  EXPECT_EQ(store.type((*totals)[0].type), given.batch_.types[0]);
  EXPECT_EQ((*totals)[0].value, 3);
  EXPECT_EQ((*totals)[0].count, 2);
}

TEST(MemoryStore, RegroupsTasksAndSendsThemAway) {
  Given given;
  given.Row(0, 0, given.main_, 0, 1);
  given.Row(0, 1, given.main_, 0, 2);
  given.Row(1, 1, given.main_, 0, 4);
  MemoryStore store;
  ASSERT_TRUE(store.Append(given.batch_).ok());
  ReadRequest request = RequestAll();
  request.group_count = 4;
  request.regroup = [](uint32_t group, const Task& task) -> std::optional<uint32_t> {
    if (task.pid == 1) return std::nullopt;
    return group + 2;
  };
  request.range = {0, 10};
  ReadReport report;
  const auto cells = store.Timeline(request, 5, &report);
  ASSERT_TRUE(cells.ok());
  std::map<uint32_t, int64_t> values;
  for (const TimelineCell& cell : *cells) values[cell.group] += cell.value;
  EXPECT_EQ(values, (std::map<uint32_t, int64_t>{{2, 2}, {3, 4}}));
}

TEST(MemoryStore, AReadKeepsWhatItBeganWithWhileRowsCome) {
  Given given;
  given.Row(0, 0, given.main_, 0, 1);
  MemoryStore store;
  ASSERT_TRUE(store.Append(given.batch_).ok());
  ReadReport report;
  size_t rows = 0;
  ASSERT_TRUE(store
                  .Rows(RequestAll(), &report,
                        [&](const RowBlock& block) -> base::Result<void> {
                          for (int i = 0; i < 100; ++i)
                            EXPECT_TRUE(store.Append(given.batch_).ok());
                          rows += block.rows.size();
                          EXPECT_EQ(block.frame.size(), 2u);
                          return {};
                        })
                  .ok());
  EXPECT_EQ(rows, 1u);
  EXPECT_EQ(store.Status().rows, 101u);
}

}  // namespace
}  // namespace vesta::store
