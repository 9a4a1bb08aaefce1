// What the index costs, on made-up services: per pushed row, per replayed node, per query, per row
// on disk.
//
//   index_bench [SERVICES] [STACKS] [PUSHES]   a day of pushes of 1,000 rows for each service
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <tuple>
#include <vector>

#include "src/base/check.h"
#include "src/store/index/batch_interner.h"
#include "src/store/index/index_file.h"
#include "src/store/index/index_for_test.h"
#include "src/store/index/index_format.h"
#include "src/store/index/index_writer.h"
#include "src/store/index/list_codec.h"

namespace vesta::store::index {
namespace {

constexpr uint32_t kRowsOfPush = 1000;

// Time of the processor, so that others on the machine count less.
class Clock {
 public:
  double Seconds() const { return Now() - start_; }

 private:
  static double Now() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }
  double start_ = Now();
};

struct Rows {
  std::vector<uint32_t> type, series, stack;
  std::vector<int64_t> time, value, count;
};

struct Day {
  Dictionary dictionary;
  std::vector<Rows> by_series;
  double intern_seconds = 0;
  double intern_warm_seconds = 0;
  uint64_t rows = 0;
  uint64_t warm_rows = 0;
};

// Zipf: the k-th stack has a weight of 1 / (k + 1).
class Zipf {
 public:
  explicit Zipf(uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) ends_.push_back(sum += 1.0 / (i + 1));
  }
  uint32_t Draw(std::mt19937_64* random) const {
    const double at = std::uniform_real_distribution<double>(0, ends_.back())(*random);
    return static_cast<uint32_t>(std::lower_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
  }

 private:
  std::vector<double> ends_;
};

void PushAll(uint32_t services, const ServiceShape& shape, uint32_t pushes, Day* day) {
  std::mt19937_64 random(7);
  std::vector<Service> all;
  for (uint32_t i = 0; i < services; ++i) all.emplace_back(i, shape);
  const Zipf zipf(shape.stacks);
  BatchInterner interner(&day->dictionary);
  day->by_series.resize(size_t{services} * 2);
  day->dictionary.InternType({"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"});
  std::vector<uint32_t> which(kRowsOfPush), nodes(kRowsOfPush);
  std::vector<profile::StackId> ids;
  for (uint32_t push = 0; push < pushes; ++push) {
    for (uint32_t series = 0; series < services * 2; ++series) {
      day->dictionary.InternSeries({{"service.name", std::to_string(series / 2)},
                                    {"service.version", std::to_string(series % 2)}});
      for (uint32_t& stack : which) stack = zipf.Draw(&random);
      const profile::Profile profile = all[series / 2].Push(which, &ids);
      const Clock clock;
      interner.Intern(profile, ids, nodes);
      const double seconds = clock.Seconds();
      day->intern_seconds += seconds;
      day->rows += kRowsOfPush;
      if (push >= pushes / 2) {
        day->intern_warm_seconds += seconds;
        day->warm_rows += kRowsOfPush;
      }
      Rows& rows = day->by_series[series];
      for (const uint32_t node : nodes) {
        rows.type.push_back(0);
        rows.series.push_back(series);
        rows.stack.push_back(node);
        rows.time.push_back(1'700'000'000'000 + int64_t{push} * 86'400'000 / pushes +
                            static_cast<int64_t>(random() % 60'000));
        rows.count.push_back(1 + static_cast<int64_t>(random() % 3));
        rows.value.push_back(rows.count.back() * 10'000'000);
      }
    }
  }
}

std::vector<std::byte> Write(const Day& day, size_t* rollup_bytes) {
  const auto write = [&](bool has_dictionary) {
    IndexWriter writer;
    RollupBuilder builder(&day.dictionary,
                          [&](const SeriesRollup& rollup) { return writer.AddRollup(rollup); });
    for (const Rows& rows : day.by_series) {
      CHECK(builder.Add({rows.type, rows.series, rows.stack, rows.time, rows.value, rows.count})
                .ok());
    }
    CHECK(builder.Finish().ok());
    if (has_dictionary) writer.AddDictionary(day.dictionary);
    return writer.Finish();
  };
  const Clock clock;
  *rollup_bytes = write(false).size();
  const double seconds = clock.Seconds();
  std::printf("roll-ups: %.1f ns a row, %.3f bytes a row\n",
              seconds * 1e9 / static_cast<double>(day.rows),
              static_cast<double>(*rollup_bytes) / static_cast<double>(day.rows));
  return write(true);
}

// Both series of a service: sums, sub-trie, names; as a query would ask for them.
void ReadService(const IndexFile& file, uint32_t service, size_t* node_count) {
  std::vector<StackTotal> stacks;
  for (uint32_t series = 2 * service; series < 2 * service + 2; ++series) {
    const auto place = file.Find(0, series);
    CHECK(place.has_value());
    CHECK(file.ReadStacks(*place, &stacks).ok());
  }
  std::vector<uint32_t> nodes;
  for (const StackTotal& stack : stacks) nodes.push_back(stack.node);
  std::vector<uint32_t> local(nodes.size());
  const VolumeReader reader(file);
  const auto trie = CutSubTrie(reader, nodes, local);
  CHECK(trie.ok());
  *node_count = trie->node.size();
  std::vector<uint32_t> frames = trie->frame;
  std::sort(frames.begin(), frames.end());
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  for (const uint32_t frame : frames) {
    const auto view = reader.frame(frame);
    CHECK(view.ok());
    for (const FrameLine& line : view->lines) CHECK(reader.function(line.function).ok());
  }
}

// What a part of the file costs: each list and each table packed by itself.
void PrintSizes(const Day& day, const IndexFile& file) {
  BlockPacker packer;
  const auto packed = [&packer](const ColumnWriter& columns) {
    std::vector<std::byte> bytes;
    packer.Append(columns, 0, &bytes);
    return bytes.size();
  };
  const auto print = [](const char* what, size_t bytes, size_t rows) {
    std::printf("  %-10s %9zu bytes, %.2f each\n", what, bytes,
                static_cast<double>(bytes) / static_cast<double>(rows));
  };
  size_t stack_bytes = 0, function_bytes = 0, minute_bytes = 0;
  size_t stacks = 0, functions = 0, minutes = 0;
  for (size_t place = 0; place < file.summaries().size(); ++place) {
    const SeriesRollup rollup = file.ReadRollup(place).value();
    ColumnWriter columns;
    EncodeList(rollup.stacks, &columns);
    stack_bytes += packed(columns);
    columns.Clear();
    EncodeList(rollup.functions, &columns);
    function_bytes += packed(columns);
    columns.Clear();
    EncodeList(rollup.minutes, &columns);
    minute_bytes += packed(columns);
    stacks += rollup.stacks.size();
    functions += rollup.functions.size();
    minutes += rollup.minutes.size();
  }
  print("stacks", stack_bytes, stacks);
  print("functions", function_bytes, functions);
  print("minutes", minute_bytes, minutes);
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    const uint32_t count = file.marks().of(table);
    size_t bytes = 0;
    for (uint32_t first = 0; first < count; first += PageRows(table)) {
      DictionaryRows rows;
      day.dictionary.CopyRows(table, first, std::min(PageRows(table), count - first), &rows);
      ColumnWriter columns;
      EncodeRows(table, rows, first, &columns);
      bytes += packed(columns);
    }
    if (count != 0) print(TableName(table), bytes, count);
  }
}

void Query(const std::vector<std::byte>& bytes, uint32_t services) {
  const Clock open_clock;
  PageCache cache(64 << 20);
  const IndexFile file = IndexFile::Open(bytes, &cache).value();
  std::printf("open: %.2f ms\n", open_clock.Seconds() * 1e3);
  size_t node_count = 0;
  for (const char* state : {"cold", "warm"}) {
    const Clock clock;
    ReadService(file, services / 2, &node_count);
    std::printf("one service, %s: %.2f ms (%zu nodes)\n", state, clock.Seconds() * 1e3, node_count);
  }
  for (const char* state : {"cold", "warm"}) {
    const Clock clock;
    std::vector<FunctionTotal> fleet;
    CHECK(file.ReadFleetFunctions(0, &fleet).ok());
    const double read = clock.Seconds();
    const VolumeReader reader(file);
    uint64_t sum = 0;
    for (const FunctionTotal& total : fleet) sum += reader.callable_hash(total.callable).value();
    std::printf("fleet's functions, %s: %.2f ms, %.2f ms with hashes (%zu, %llx)\n", state,
                read * 1e3, clock.Seconds() * 1e3, fleet.size(),
                static_cast<unsigned long long>(sum));
  }
  const Clock clock;
  std::vector<FunctionTotal> functions;
  for (size_t place = 0; place < file.summaries().size(); ++place)
    CHECK(file.ReadFunctions(place, &functions).ok());
  std::printf("functions of each series: %.2f ms (%zu)\n", clock.Seconds() * 1e3, functions.size());
}

int Main(int argc, char** argv) {
  const auto argument = [&](int i, uint32_t otherwise) {
    return argc > i ? static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)) : otherwise;
  };
  const uint32_t services = argument(1, 50);
  ServiceShape shape = {
      .functions = 1500, .stacks = argument(2, 3000), .depth = 30, .has_oddities = false};
  Day day;
  PushAll(services, shape, argument(3, 36), &day);
  const DictionaryMarks marks = day.dictionary.marks();
  const auto rows = static_cast<double>(day.rows);
  std::printf("%.1f M rows, %u nodes, %u frames, %u functions, %u strings; %.1f MB in memory\n",
              rows / 1e6, marks.nodes, marks.frames, marks.functions, marks.strings,
              static_cast<double>(day.dictionary.memory_bytes()) / 1e6);
  std::printf("interning: %.3f us a row, %.3f in the second half\n",
              day.intern_seconds * 1e6 / rows,
              day.intern_warm_seconds * 1e6 / static_cast<double>(day.warm_rows));

  const auto delta = day.dictionary.EncodeDelta(Dictionary().marks());
  Dictionary copy;
  const Clock replay;
  CHECK(copy.ApplyDelta(delta).ok());
  const double replayed = replay.Seconds();
  copy.InternString("");
  std::printf("replay: %.1f ns a node, its first intern %.1f more; delta %.2f bytes a node\n",
              replayed * 1e9 / marks.nodes, (replay.Seconds() - replayed) * 1e9 / marks.nodes,
              static_cast<double>(delta.size()) / marks.nodes);

  size_t rollup_bytes = 0;
  const auto bytes = Write(day, &rollup_bytes);
  std::printf("volume.idx: %.3f bytes a row; dictionary %.2f bytes a node\n",
              static_cast<double>(bytes.size()) / rows,
              static_cast<double>(bytes.size() - rollup_bytes) / marks.nodes);
  PrintSizes(day, IndexFile::Open(bytes, nullptr).value());
  Query(bytes, services);
  return 0;
}

}  // namespace
}  // namespace vesta::store::index

int main(int argc, char** argv) { return vesta::store::index::Main(argc, argv); }
