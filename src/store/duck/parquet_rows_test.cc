#include "src/store/duck/parquet_rows.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "src/store/duck/test_rows.h"

namespace vesta::store::duck {
namespace {

using base::ErrorCode;
using base::Result;

RowValues RandomRows(size_t count, uint32_t series_count, unsigned seed) {
  std::minstd_rand random(seed);
  RowValues rows;
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  for (size_t i = 0; i < count; ++i) {
    rows.Add(below(3), below(series_count), below(4), below(1000), below(100000),
             static_cast<int64_t>(below(1000)) - 100);
  }
  return rows;
}

// The rows that a read must give, in the order of sealed files.
RowValues Expected(const RowValues& rows, const ParquetRead& read) {
  const auto has = [](std::span<const uint32_t> set, uint32_t id) {
    return std::binary_search(set.begin(), set.end(), id);
  };
  std::vector<size_t> order;
  for (size_t i = 0; i < rows.type.size(); ++i) {
    if (has(read.types, rows.type[i]) && (read.every_series || has(read.series, rows.series[i])) &&
        read.range.Contains(rows.time[i])) {
      order.push_back(i);
    }
  }
  const auto key = [&](size_t i) {
    return std::tuple(rows.type[i], rows.series[i], rows.task[i], rows.time[i], rows.stack[i],
                      rows.value[i]);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  RowValues expected;
  for (const size_t i : order) {
    expected.Add(rows.type[i], rows.series[i], rows.task[i], rows.stack[i], rows.time[i],
                 rows.value[i]);
  }
  return expected;
}

// Rows that are equal in the order of the file may stand either way.
RowValues Settled(const RowValues& rows) {
  const std::vector<uint32_t> types = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  ParquetRead all;
  all.types = types;
  all.every_series = true;
  return Expected(rows, all);
}

class ParquetRowsTest : public testing::Test {
 protected:
  RowValues Read(const ParquetRead& read) {
    RowValues rows;
    auto done = ReadRows(*db_, read, [&](const RowColumns& columns) -> Result<void> {
      rows.Add(columns);
      return {};
    });
    EXPECT_TRUE(done.ok()) << done.error().message();
    return rows;
  }
  // Sorted by way of a compaction.
  std::string Seal(const RowValues& rows, const std::string& name) {
    const std::string unsorted = folder_ / "unsorted.parquet";
    auto sealed = SealAsTheyAre(rows, unsorted);
    EXPECT_TRUE(sealed.ok()) << sealed.error().message();
    EXPECT_EQ(*sealed, rows.type.size());
    const CompactInput input = {unsorted, {}, {}, {}, {}};
    auto sorted = CompactRows(*db_, std::span(&input, 1), folder_ / name);
    EXPECT_TRUE(sorted.ok()) << sorted.error().message();
    return folder_ / name;
  }
  // In two pieces.
  Result<uint64_t> SealAsTheyAre(const RowValues& rows, const std::string& path) {
    RowValues halves[3];  // the last one is the end
    for (size_t i = 0; i < rows.type.size(); ++i) {
      RowValues& half = halves[2 * i < rows.type.size() ? 0 : 1];
      half.Add(rows.type[i], rows.series[i], rows.task[i], rows.stack[i], rows.time[i],
               rows.value[i]);
      half.weight.back() = rows.weight[i];
      half.count.back() = rows.count[i];
    }
    size_t next = 0;
    return SealRows(
        *db_, [&]() -> Result<RowColumns> { return halves[std::min<size_t>(next++, 2)].View(); },
        path);
  }
  ParquetRead ReadAllOf(const std::string& path) {
    ParquetRead read;
    read.path = path;
    read.types = all_types_;
    read.every_series = true;
    return read;
  }

  TestFolder folder_;
  std::unique_ptr<DuckDb> db_ = OpenTestDb(folder_);
  const std::vector<uint32_t> all_types_ = {0, 1, 2};
};

TEST_F(ParquetRowsTest, RowsAreSealedInTheOrderInWhichTheyCome) {
  const RowValues rows = RandomRows(5'000, 20, 9);
  const std::string path = folder_ / "sealed.parquet";
  auto sealed = SealAsTheyAre(rows, path);
  ASSERT_TRUE(sealed.ok()) << sealed.error().message();
  EXPECT_EQ(Read(ReadAllOf(path)), rows);
}

TEST_F(ParquetRowsTest, ASourceThatFailsIsItsError) {
  const auto sealed = SealRows(
      *db_,
      []() -> Result<RowColumns> { return base::Error(ErrorCode::kExhausted, "no rows today"); },
      folder_ / "none.parquet");
  ASSERT_FALSE(sealed.ok());
  EXPECT_EQ(sealed.error().code(), ErrorCode::kExhausted);
  EXPECT_EQ(sealed.error().message(), "no rows today");
}

TEST_F(ParquetRowsTest, EveryReadEqualsAFilterOfTheRows) {
  const RowValues rows = RandomRows(130000, 500, 1);
  const std::string path = Seal(rows, "a [1]*?'.parquet");
  std::vector<uint32_t> every_third;
  for (uint32_t i = 0; i < 200000; i += 3) every_third.push_back(i);
  const std::vector<uint32_t> one = {77};
  const std::vector<uint32_t> few = {3, 4, 499, 900};
  const std::vector<uint32_t> types[] = {{0}, {1, 2}, {0, 1, 2}, {9}};
  for (const auto& type : types) {
    for (const TimeRange range : {TimeRange{}, TimeRange{20000, 30001}}) {
      for (const auto& series : {one, few, every_third, {}}) {
        ParquetRead read = ReadAllOf(path);
        read.types = type;
        read.series = series;
        read.every_series = series.empty();
        read.range = range;
        EXPECT_EQ(Settled(Read(read)), Expected(rows, read)) << type.size() << series.size();
      }
    }
  }
  const RowValues in_order = Read(ReadAllOf(path));
  EXPECT_TRUE(std::is_sorted(in_order.type.begin(), in_order.type.end()));
  const RowValues expected = Settled(rows);
  EXPECT_EQ(in_order.series, expected.series);
  EXPECT_EQ(in_order.time, expected.time);
  EXPECT_EQ(in_order.stack, expected.stack);
}

TEST_F(ParquetRowsTest, GivesOnlyTheColumnsAskedFor) {
  const std::string path = Seal(RandomRows(5000, 50, 2), "a.parquet");
  ParquetRead read = ReadAllOf(path);
  std::vector<uint32_t> many(20);
  std::iota(many.begin(), many.end(), 0U);
  for (const bool every : {true, false}) {
    read.every_series = every;
    read.series = many;
    read.columns = kStackColumn | kCountColumn;
    size_t rows = 0;
    ASSERT_TRUE(ReadRows(*db_, read, [&](const RowColumns& columns) -> Result<void> {
                  rows += columns.row_count;
                  EXPECT_EQ(columns.stack.size(), columns.row_count);
                  EXPECT_EQ(columns.count.size(), columns.row_count);
                  EXPECT_TRUE(columns.series.empty() && columns.value.empty());
                  return {};
                }).ok());
    EXPECT_GT(rows, 1000U);
  }
  read.series = {};
  read.every_series = false;
  EXPECT_EQ(Read(read).type.size(), 0U);
}

TEST_F(ParquetRowsTest, SummaryTellsRowsAndBounds) {
  RowValues rows = RandomRows(1000, 40, 3);
  rows.Add(1, 45, 0, 0, -5, 1);
  rows.Add(71, 2, 7'002, 700'003, int64_t{1} << 50, 1);
  auto summary = SummarizeRows(*db_, Seal(rows, "a.parquet"));
  ASSERT_TRUE(summary.ok()) << summary.error().message();
  EXPECT_EQ(summary->rows, 1002U);
  EXPECT_EQ(summary->row_groups, 1U);
  EXPECT_EQ(summary->time_unix_ms_min, -5);
  EXPECT_EQ(summary->time_unix_ms_max, int64_t{1} << 50);
  EXPECT_EQ(summary->series_min, 0U);
  EXPECT_EQ(summary->series_max, 45U);
  EXPECT_EQ(summary->type_max, 71U);
  EXPECT_EQ(summary->task_max, 7'002U);
  EXPECT_EQ(summary->stack_max, 700'003U);
  auto empty = SummarizeRows(*db_, Seal(RowValues(), "empty.parquet"));
  ASSERT_TRUE(empty.ok()) << empty.error().message();
  EXPECT_EQ(empty->rows, 0U);
}

TEST_F(ParquetRowsTest, CompactsWithinItsMemory) {
  db_ = OpenTestDb(folder_, 32);
  RowValues all;
  std::vector<std::string> paths;
  std::vector<CompactInput> inputs;
  for (unsigned i = 0; i < 5; ++i) {
    const RowValues rows = RandomRows(200000, 300, 10 + i);
    all.Add(rows.View());
    inputs.push_back({Seal(rows, "seg-" + std::to_string(i) + ".parquet"), {}, {}, {}, {}});
  }
  auto done = CompactRows(*db_, inputs, folder_ / "rows.parquet");
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(*done, all.type.size());
  EXPECT_EQ(Settled(Read(ReadAllOf(folder_ / "rows.parquet"))), Settled(all));
  const std::atomic<bool> cancelled = true;
  EXPECT_EQ(CompactRows(*db_, inputs, folder_ / "no.parquet", &cancelled).error().code(),
            ErrorCode::kUnavailable);
}

TEST_F(ParquetRowsTest, CompactsWithNewIds) {
  const RowValues a = RandomRows(3000, 10, 20);
  const RowValues b = RandomRows(3000, 10, 21);
  const std::vector<uint32_t> series = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  std::vector<uint32_t> stack(1000);
  std::iota(stack.begin(), stack.end(), 5000U);
  const CompactInput inputs[] = {{Seal(a, "a.parquet"), {}, {}, {}, {}},
                                 {Seal(b, "b.parquet"), {}, series, {}, stack}};
  auto done = CompactRows(*db_, inputs, folder_ / "rows.parquet");
  ASSERT_TRUE(done.ok()) << done.error().message();
  RowValues expected = a;
  for (size_t i = 0; i < b.type.size(); ++i) {
    expected.Add(b.type[i], 9 - b.series[i], b.task[i], b.stack[i] + 5000, b.time[i], b.value[i]);
  }
  EXPECT_EQ(Settled(Read(ReadAllOf(folder_ / "rows.parquet"))), Settled(expected));
  const CompactInput beyond[] = {{folder_ / "b.parquet", {}, std::span(series).first(5), {}, {}}};
  const std::atomic<bool> cancelled = true;
  EXPECT_EQ(CompactRows(*db_, inputs, folder_ / "no.parquet", &cancelled).error().code(),
            ErrorCode::kUnavailable);
  auto refused = CompactRows(*db_, beyond, folder_ / "no.parquet");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kCorrupt);
  EXPECT_NE(refused.error().message().find("b.parquet"), std::string::npos);
}

TEST_F(ParquetRowsTest, NamesTheDamagedFileOfACompaction) {
  const std::string good = Seal(RandomRows(3000, 10, 20), "good.parquet");
  const std::string bad = Seal(RandomRows(3000, 10, 21), "bad.parquet");
  WriteAll(bad, ReadAll(bad).substr(0, 5000));
  const CompactInput inputs[] = {{good, {}, {}, {}, {}}, {bad, {}, {}, {}, {}}};
  auto done = CompactRows(*db_, inputs, folder_ / "rows.parquet");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(done.error().message().find(bad), 0U) << done.error().message();
  EXPECT_EQ(SummarizeRows(*db_, folder_ / "none.parquet").error().code(), ErrorCode::kNotFound);
}

// 0 = read, 1 = Corrupt, 2 = another error, else the process died.
int ReadDamaged(const std::string& folder, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto db = DuckDb::Open({folder + "/spill", uint64_t{128} << 20, 2});
    const std::vector<uint32_t> types = {0, 1, 2};
    ParquetRead read;
    read.path = path;
    read.types = types;
    read.every_series = true;
    auto done = ReadRows(**db, read, [](const RowColumns&) -> Result<void> { return {}; });
    if (done.ok()) ::_exit(0);
    ::_exit(done.error().code() == ErrorCode::kCorrupt ? 1 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

// A flipped bit may be read as other values: Parquet's pages carry no checksum here, which is why
// the store checks a file's before it opens it.
TEST_F(ParquetRowsTest, DamageNeverEndsTheProcess) {
  const std::string original = ReadAll(Seal(RandomRows(20000, 100, 5), "a.parquet"));
  const std::string path = folder_ / "damaged.parquet";
  std::minstd_rand random(9);
  size_t refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bytes = original;
    // The footer is at the end.
    const size_t at = i % 3 == 0 ? bytes.size() - 1 - random() % 2500 : random() % bytes.size();
    if (i % 4 == 3) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
    WriteAll(path, bytes);
    const int outcome = ReadDamaged(folder_.path(), path);
    EXPECT_LE(outcome, 1) << "byte " << at << (i % 4 == 3 ? " cut" : " flipped");
    EXPECT_TRUE(i % 4 != 3 || outcome == 1);
    if (outcome == 1) ++refused;
  }
  EXPECT_GT(refused, 15U);
}

TEST_F(ParquetRowsTest, AFullDiskIsUnavailable) {
  const std::string disk = folder_ / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=100k") != 0) GTEST_SKIP() << "needs root";
  const RowValues rows = RandomRows(100000, 300, 6);
  auto sealed = SealAsTheyAre(rows, disk + "/a.parquet");
  EXPECT_EQ(::umount(disk.c_str()), 0);
  ASSERT_FALSE(sealed.ok());
  EXPECT_EQ(sealed.error().code(), ErrorCode::kUnavailable) << sealed.error().message();
}

}  // namespace
}  // namespace vesta::store::duck
