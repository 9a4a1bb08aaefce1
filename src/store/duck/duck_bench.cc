// Figures of the hot file and of sealed Parquet: duck_bench FOLDER append|parquet [ROWS
// [MEMORY_MB]].
//
// Data as of issue 7: 400 series, 3,000 stacks for two series each, pushes of 1,000 rows which
// share one time ("shared"), or rows with times of their own ("own").
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <unordered_map>

#include "src/store/duck/hot_file.h"
#include "src/store/duck/parquet_rows.h"

namespace {

namespace base = vesta::base;
namespace store = vesta::store;
using vesta::store::duck::DuckDb;
using vesta::store::duck::HotFile;
using vesta::store::duck::RowColumns;

constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kMidnight = 1'793'318'400'000;

double Cpu() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
double PeakMb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}
double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double Bytes(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<double>(status.st_size) : 0;
}
template <typename T>
T Need(base::Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}
void Need(base::Result<void> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    std::exit(1);
  }
}

// The rows of a day, made piece by piece.
class Rows {
 public:
  Rows(size_t total, bool has_own_times) : total_(total), has_own_times_(has_own_times) {}

  RowColumns Next(size_t count) {
    type_.assign(count, 0);
    task_.assign(count, 0);
    weight_.assign(count, 1);
    series_.resize(count);
    stack_.resize(count);
    time_.resize(count);
    value_.resize(count);
    count_.resize(count);
    for (size_t i = 0; i < count; ++i, ++next_) {
      const size_t push = next_ / 1000;
      const auto series = static_cast<uint32_t>(push * 7919 % 400);
      const auto a = static_cast<uint32_t>(random_() % 3000);
      const auto b = static_cast<uint32_t>(random_() % 3000);
      series_[i] = series;
      stack_[i] = series / 2 * 3000 + a * b / 3000;
      const size_t at = has_own_times_ ? next_ : push * 1000;
      time_[i] = kMidnight + static_cast<int64_t>(at) * kDayMs / static_cast<int64_t>(total_);
      count_[i] = 1 + static_cast<int64_t>(random_() % 5);
      value_[i] = count_[i] * 10'000'000;
    }
    return {count, type_, series_, task_, stack_, time_, value_, count_, weight_};
  }

 private:
  size_t total_;
  bool has_own_times_;
  size_t next_ = 0;
  std::minstd_rand random_{1};
  std::vector<uint32_t> type_, series_, task_, stack_;
  std::vector<int64_t> time_, value_, count_;
  std::vector<float> weight_;
};

void BenchAppend(const DuckDb& db, const std::string& folder, size_t total) {
  for (const size_t commit_rows : {200u, 1000u, 2000u, 10000u, 100000u}) {
    const size_t rows_all = commit_rows == 200 ? total / 5 : total;
    const std::string path = folder + "/hot.duckdb";
    std::remove(path.c_str());
    auto hot = Need(HotFile::Open(db, path));
    Rows rows(rows_all, false);
    std::vector<uint8_t> delta(commit_rows / 50, 7);
    double slowest = 0;
    double own_cpu = 0;
    const double started = Now();
    const double cpu = Cpu();
    for (size_t done = 0; done < rows_all; done += commit_rows) {
      const double making = Cpu();
      const store::duck::PartRows part{1, rows.Next(commit_rows)};
      own_cpu += Cpu() - making;
      const store::duck::LedgerRow ledger{"agent", "boot", done, commit_rows, 0};
      const double before = Now();
      Need(hot->Commit({std::span(&part, 1), delta, {}, std::span(&ledger, 1)}));
      slowest = std::max(slowest, Now() - before);
    }
    const double spent = Cpu() - cpu - own_cpu;
    std::printf(
        "append %zu rows by %zu: %.0f rows/CPU-s, %.2f s, slowest commit %.1f ms, file %.1f "
        "MB, wal %.1f MB, peak %.0f MB\n",
        rows_all, commit_rows, static_cast<double>(rows_all) / spent, Now() - started,
        slowest * 1e3, Bytes(path) / 1e6, Bytes(path + ".wal") / 1e6, PeakMb());
    // As kill -9 leaves them.
    const std::string killed = folder + "/killed.duckdb";
    for (const char* end : {"", ".wal"}) {
      if (!std::filesystem::exists(path + end)) continue;  // just checkpointed
      std::filesystem::copy_file(path + end, killed + end,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    double before = Now();
    auto replayed = Need(HotFile::Open(db, killed));
    const double replay = Now() - before;
    Need(replayed->Close());
    std::printf("  after kill -9: open %.1f ms, close %.1f ms", replay * 1e3,
                (Now() - before - replay) * 1e3);
    before = Now();
    Need(hot->Checkpoint());
    std::printf(", checkpoint %.1f ms", (Now() - before) * 1e3);
    hot.reset();
    before = Now();
    hot = Need(HotFile::Open(db, path));
    std::printf(", open %.1f ms", (Now() - before) * 1e3);
    before = Now();
    uint64_t seen = 0;
    const auto ignore = [](store::duck::Bytes) -> base::Result<void> { return {}; };
    Need(hot->Load({ignore, ignore,
                    [](const store::duck::LedgerRow&) -> base::Result<void> { return {}; },
                    [&](uint32_t, const RowColumns& loaded) -> base::Result<void> {
                      seen += loaded.row_count;
                      return {};
                    }}));
    std::printf(", load %.1f ms (%zu rows)", (Now() - before) * 1e3, static_cast<size_t>(seen));
    before = Now();
    Need(hot->DropPart(1));
    Need(hot->Checkpoint());
    std::printf(", drop and checkpoint %.1f ms, file %.1f MB, peak %.0f MB\n",
                (Now() - before) * 1e3, Bytes(path) / 1e6, PeakMb());
  }
}

void BenchRead(const DuckDb& db, const char* name, store::duck::ParquetRead read) {
  double first = 0;
  double best = 1e9;
  uint64_t rows = 0;
  for (int i = 0; i < 7; ++i) {
    rows = 0;
    int64_t value = 0;
    const double before = Now();
    Need(store::duck::ReadRows(db, read, [&](const RowColumns& chunk) -> base::Result<void> {
      rows += chunk.row_count;
      for (const int64_t one : chunk.value) value += one;
      return {};
    }));
    const double took = (Now() - before) * 1e3;
    if (i == 0) first = took;
    best = std::min(best, took);
  }
  std::printf("  %s: first %.1f ms, best %.1f ms, %zu rows\n", name, first, best,
              static_cast<size_t>(rows));
}

void BenchParquet(const DuckDb& db, const std::string& folder, size_t total) {
  for (const bool has_own_times : {false, true}) {
    Rows rows(total, has_own_times);
    std::vector<std::string> paths;
    double before = Now();
    double cpu = Cpu();
    const size_t part = std::min<size_t>(total, 1'000'000);
    for (size_t done = 0; done < total; done += part) {
      paths.push_back(folder + "/seg-" + std::to_string(done / part) + ".parquet");
      const RowColumns columns = rows.Next(part);
      bool is_given = false;
      Need(store::duck::SealRows(
          db,
          [&]() -> base::Result<RowColumns> {
            return std::exchange(is_given, true) ? RowColumns() : columns;
          },
          paths.back()));
    }
    std::printf("%s times: seal %zu rows %.1f s, %.0f rows/CPU-s, peak %.0f MB\n",
                has_own_times ? "own" : "shared", total, Now() - before,
                static_cast<double>(total) / (Cpu() - cpu), PeakMb());
    std::vector<store::duck::CompactInput> inputs;
    for (const std::string& path : paths) inputs.push_back({path, {}, {}, {}, {}});
    const std::string day = folder + "/rows.parquet";
    before = Now();
    cpu = Cpu();
    Need(store::duck::CompactRows(db, inputs, day));
    std::printf("  compact %.1f s, %.0f rows/CPU-s, %.2f B/row, peak %.0f MB\n", Now() - before,
                static_cast<double>(total) / (Cpu() - cpu), Bytes(day) / static_cast<double>(total),
                PeakMb());
    before = Now();
    const auto summary = Need(store::duck::SummarizeRows(db, day));
    std::printf("  summary %.1f ms, %zu row groups\n", (Now() - before) * 1e3,
                static_cast<size_t>(summary.row_groups));
    const std::vector<uint32_t> types = {0};
    std::vector<uint32_t> one = {77};
    std::vector<uint32_t> two = {3, 377};
    std::vector<uint32_t> many;
    for (uint32_t i = 0; i < 200; ++i) many.push_back(i * 2);
    std::vector<uint32_t> huge;
    for (uint32_t i = 0; i < 100000; ++i) huge.push_back(i * 3);
    const uint32_t sums = store::duck::kSeriesColumn | store::duck::kStackColumn |
                          store::duck::kValueColumn | store::duck::kCountColumn;
    const auto read = [&](std::span<const uint32_t> series, bool every, uint32_t columns,
                          store::TimeRange range) {
      store::duck::ParquetRead made;
      made.path = day;
      made.types = types;
      made.series = series;
      made.every_series = every;
      made.columns = columns;
      made.range = range;
      return made;
    };
    const store::TimeRange hour{kMidnight + kDayMs / 2, kMidnight + kDayMs / 2 + 3'600'000};
    BenchRead(db, "one series", read(one, false, sums, {}));
    BenchRead(db, "one series, all columns", read(one, false, store::duck::kAllColumns, {}));
    BenchRead(db, "one series, one hour", read(one, false, sums, hour));
    BenchRead(db, "two series far apart", read(two, false, sums, {}));
    BenchRead(db, "200 of 400 series", read(many, false, sums, {}));
    BenchRead(db, "100,000 series", read(huge, false, sums, {}));
    BenchRead(db, "all", read({}, true, sums, {}));
    BenchRead(db, "all, one hour", read({}, true, sums, hour));
    std::printf("  peak %.0f MB\n", PeakMb());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "duck_bench FOLDER append|parquet [ROWS [MEMORY_MB]]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const size_t total = argc > 3 ? std::stoul(argv[3]) : 1'000'000;
  const double before = Now();
  const uint64_t memory_mb = argc > 4 ? std::stoul(argv[4]) : 128;
  auto db = Need(DuckDb::Open({folder + "/spill", memory_mb << 20, 2}));
  std::printf("start %.1f ms, peak %.0f MB\n", (Now() - before) * 1e3, PeakMb());
  if (std::string(argv[2]) == "append") {
    BenchAppend(*db, folder, total);
  } else {
    BenchParquet(*db, folder, total);
  }
}
