#include "src/store/index/rollup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/profile/profile.h"
#include "src/store/index/rollup_for_test.h"

namespace vesta::store::index {
namespace {

using profile::AddSaturating;

// Looks at each row by itself.
std::vector<SeriesRollup> Reference(const Dictionary& dictionary,
                                    const std::vector<TestRow>& rows) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<TestRow>> by_series;
  for (const TestRow& row : rows) by_series[{row.type, row.series}].push_back(row);
  std::vector<SeriesRollup> all;
  for (const auto& [key, own] : by_series) {
    SeriesRollup rollup;
    rollup.summary = {.type = key.first,
                      .series = key.second,
                      .time_min = own[0].time_unix_ms,
                      .time_max = own[0].time_unix_ms};
    std::map<uint32_t, StackTotal> stacks;
    std::map<uint32_t, FunctionTotal> functions;
    std::map<int64_t, MinuteTotal> minutes;
    const auto add = [](int64_t* sum, int64_t value) { *sum = AddSaturating(*sum, value); };
    for (const TestRow& row : own) {
      ++rollup.summary.rows;
      add(&rollup.summary.value, row.value);
      add(&rollup.summary.count, row.count);
      rollup.summary.time_min = std::min(rollup.summary.time_min, row.time_unix_ms);
      rollup.summary.time_max = std::max(rollup.summary.time_max, row.time_unix_ms);
      stacks[row.stack].node = row.stack;
      add(&stacks[row.stack].value, row.value);
      add(&stacks[row.stack].count, row.count);
      const int64_t minute = (row.time_unix_ms + 60'000'000'000) / 60'000 - 1'000'000;
      minutes[minute].minute = minute;
      add(&minutes[minute].value, row.value);
      add(&minutes[minute].count, row.count);
      std::set<uint32_t> passed;
      bool is_leaf = true;
      for (uint32_t node = row.stack; node != 0; node = dictionary.node(node).parent) {
        const auto callables = dictionary.frame_callables(dictionary.node(node).frame).value();
        for (const uint32_t id : callables) {
          functions[id].callable = id;
          if (is_leaf) add(&functions[id].self, row.value);
          if (is_leaf) add(&functions[id].self_count, row.count);
          is_leaf = false;
          if (!passed.insert(id).second) continue;
          add(&functions[id].total, row.value);
          add(&functions[id].total_count, row.count);
        }
      }
    }
    for (const auto& [id, total] : stacks) rollup.stacks.push_back(total);
    for (const auto& [id, total] : functions) rollup.functions.push_back(total);
    for (const auto& [id, total] : minutes) rollup.minutes.push_back(total);
    all.push_back(rollup);
  }
  return all;
}

TEST(Rollup, EqualsWhatEachRowSays) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const TestVolume volume(seed, 3000);
    const auto expected = Reference(volume.dictionary, volume.rows);
    EXPECT_GT(expected.size(), 4u);
    EXPECT_EQ(MakeRollups(volume, volume.rows), expected) << seed;
  }
}

TEST(Rollup, RowsMayComeInPiecesOfAnySize) {
  const TestVolume volume(4, 500);
  const auto expected = MakeRollups(volume, volume.rows);
  EXPECT_EQ(MakeRollups(volume, volume.rows, 1), expected);
  EXPECT_EQ(MakeRollups(volume, volume.rows, 7), expected);
}

TEST(Rollup, SumsSaturate) {
  TestVolume volume(5, 50);
  for (TestRow& row : volume.rows) row.value = std::numeric_limits<int64_t>::max() / 3;
  EXPECT_EQ(MakeRollups(volume, volume.rows), Reference(volume.dictionary, volume.rows));
}

TEST(Rollup, OfSegmentsAddUpToThatOfTheWhole) {
  const TestVolume volume(6, 3000);
  std::vector<TestRow> parts[3];
  for (size_t i = 0; i < volume.rows.size(); ++i) parts[(i * 7) % 3].push_back(volume.rows[i]);
  std::map<std::pair<uint32_t, uint32_t>, SeriesRollup> merged;
  for (const auto& part : parts) {
    for (const SeriesRollup& rollup : MakeRollups(volume, part)) {
      const auto key = std::pair(rollup.summary.type, rollup.summary.series);
      const auto [known, is_new] = merged.emplace(key, rollup);
      if (!is_new) AddRollup(rollup, &known->second);
    }
  }
  std::vector<SeriesRollup> all;
  for (const auto& [key, rollup] : merged) all.push_back(rollup);
  EXPECT_EQ(all, MakeRollups(volume, volume.rows));
}

TEST(Rollup, MovesToTheIdsOfAnotherDictionary) {
  const TestVolume volume(7, 1000);
  TestVolume other(8, 10);
  const IdMaps maps = MergeDictionary(volume.dictionary, &other.dictionary);
  std::vector<TestRow> moved = volume.rows;
  for (TestRow& row : moved) {
    row.type = maps.types[row.type];
    row.series = maps.series[row.series];
    row.stack = maps.nodes[row.stack];
  }
  auto rollups = MakeRollups(volume, volume.rows);
  for (SeriesRollup& rollup : rollups) RemapRollup(maps, &rollup);
  std::sort(rollups.begin(), rollups.end(), [](const SeriesRollup& a, const SeriesRollup& b) {
    return std::pair(a.summary.type, a.summary.series) <
           std::pair(b.summary.type, b.summary.series);
  });
  EXPECT_EQ(rollups, Reference(other.dictionary, moved));
}

TEST(Rollup, RefusesRowsThatAreNotSorted) {
  const TestVolume volume(9, 100);
  auto rows = volume.rows;
  std::reverse(rows.begin(), rows.end());
  RollupBuilder builder(&volume.dictionary,
                        [](const SeriesRollup&) { return base::Result<void>(); });
  const RowColumns columns(rows, 0, rows.size());
  EXPECT_EQ(builder.Add(columns.view()).error().code(), base::ErrorCode::kInvalidInput);
}

TEST(Rollup, SaysWhenANodeDoesNotExist) {
  const TestVolume volume(10, 100);
  auto rows = volume.rows;
  rows[50].stack = volume.dictionary.node_count();
  RollupBuilder builder(&volume.dictionary,
                        [](const SeriesRollup&) { return base::Result<void>(); });
  const RowColumns columns(rows, 0, rows.size());
  auto result = builder.Add(columns.view());
  if (result.ok()) result = builder.Finish();
  EXPECT_EQ(result.error().code(), base::ErrorCode::kCorrupt);
}

TEST(Rollup, PassesOnWhatTheSinkSays) {
  const TestVolume volume(11, 100);
  RollupBuilder builder(&volume.dictionary, [](const SeriesRollup&) {
    return base::Result<void>(base::Error(base::ErrorCode::kUnavailable, "disk full"));
  });
  const RowColumns columns(volume.rows, 0, volume.rows.size());
  EXPECT_EQ(builder.Add(columns.view()).error().code(), base::ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace vesta::store::index
