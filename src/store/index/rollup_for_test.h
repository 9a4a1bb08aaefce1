// A volume with rows, for the tests of roll-ups and index files.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/check.h"
#include "src/store/index/batch_interner.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/index_for_test.h"
#include "src/store/index/rollup.h"

namespace vesta::store::index {

struct TestRow {
  uint32_t type;
  uint32_t series;
  uint32_t stack;
  int64_t time_unix_ms;
  int64_t value;
  int64_t count;
};

class RowColumns {
 public:
  RowColumns(const std::vector<TestRow>& rows, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      type_.push_back(rows[i].type);
      series_.push_back(rows[i].series);
      stack_.push_back(rows[i].stack);
      time_.push_back(rows[i].time_unix_ms);
      value_.push_back(rows[i].value);
      count_.push_back(rows[i].count);
    }
  }
  RollupRows view() const { return {type_, series_, stack_, time_, value_, count_}; }

 private:
  std::vector<uint32_t> type_, series_, stack_;
  std::vector<int64_t> time_, value_, count_;
};

// Shape: rows sorted by type and series; times on both sides of 1970.
struct TestVolume {
  TestVolume(uint64_t seed, size_t row_count) {
    std::mt19937_64 random(seed);
    std::vector<uint32_t> nodes;
    BatchInterner interner(&dictionary);
    for (uint32_t number = 0; number < 3; ++number) {
      const Service service(number + static_cast<uint32_t>(seed) % 2, ServiceShape{});
      std::vector<uint32_t> which(service.stack_count());
      for (uint32_t i = 0; i < which.size(); ++i) which[i] = i;
      std::vector<profile::StackId> ids;
      const profile::Profile profile = service.Push(which, &ids);
      nodes.resize(nodes.size() + ids.size());
      interner.Intern(profile, ids, std::span(nodes).last(ids.size()));
    }
    for (uint32_t i = 0; i < 2; ++i)
      dictionary.InternType({i == 0 ? "cpu" : "space", "unit", "", "", ""});
    for (uint32_t i = 0; i < 4; ++i)
      dictionary.InternSeries({{"service.name", "s" + std::to_string(i * seed)}});
    dictionary.InternTask({1, 2, "thread"});
    for (size_t i = 0; i < row_count; ++i) {
      TestRow row = {};
      row.type = random() % 3 == 0 ? 1 : 0;
      row.series = static_cast<uint32_t>(random() % 4);
      row.stack = nodes[random() % nodes.size()];
      row.time_unix_ms = static_cast<int64_t>(random() % 4'000'000) - 2'000'000;
      row.count = static_cast<int64_t>(random() % 4);
      row.value = row.type == 0 ? row.count * 10'000'000 : static_cast<int64_t>(random() % 100'000);
      rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const TestRow& a, const TestRow& b) {
      return std::tie(a.type, a.series) < std::tie(b.type, b.series);
    });
  }

  Dictionary dictionary;
  std::vector<TestRow> rows;
};

inline std::vector<SeriesRollup> MakeRollups(const TestVolume& volume,
                                             const std::vector<TestRow>& rows,
                                             size_t piece = 1000) {
  std::vector<SeriesRollup> all;
  RollupBuilder builder(&volume.dictionary, [&](const SeriesRollup& rollup) {
    all.push_back(rollup);
    return base::Result<void>();
  });
  for (size_t begin = 0; begin < rows.size(); begin += piece) {
    const RowColumns columns(rows, begin, std::min(rows.size(), begin + piece));
    CHECK(builder.Add(columns.view()).ok());
  }
  CHECK(builder.Finish().ok());
  return all;
}

}  // namespace vesta::store::index
