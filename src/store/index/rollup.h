// Sums beside the rows: per series and stack, per series and function, per series and minute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/base/result.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/node_source.h"

namespace vesta::store::index {

struct StackTotal {
  uint32_t node = 0;
  int64_t value = 0;
  int64_t count = 0;
  friend bool operator==(const StackTotal&, const StackTotal&) = default;
};
struct FunctionTotal {
  uint32_t callable = 0;
  int64_t self = 0;
  int64_t total = 0;
  int64_t self_count = 0;
  int64_t total_count = 0;
  friend bool operator==(const FunctionTotal&, const FunctionTotal&) = default;
};
struct MinuteTotal {
  int64_t minute = 0;  // time_unix_ms / base::kMinuteMs, rounded down
  int64_t value = 0;
  int64_t count = 0;
  friend bool operator==(const MinuteTotal&, const MinuteTotal&) = default;
};

// Of one series of one type.
// Units: times in unix ms, both inclusive. Sums saturate.
struct SeriesSummary {
  uint32_t type = 0;
  uint32_t series = 0;
  uint64_t rows = 0;
  int64_t value = 0;
  int64_t count = 0;
  int64_t time_min = 0;
  int64_t time_max = 0;
  friend bool operator==(const SeriesSummary&, const SeriesSummary&) = default;
};

// Shape: each list sorted by its id (node, callable, minute), each id once. A stack without frames
//        (node 0) counts for no function.
struct SeriesRollup {
  SeriesSummary summary;
  std::vector<StackTotal> stacks;
  std::vector<FunctionTotal> functions;
  std::vector<MinuteTotal> minutes;
  friend bool operator==(const SeriesRollup&, const SeriesRollup&) = default;
};

// Rows as columns. Spans are equally long; ids are the volume's.
struct RollupRows {
  std::span<const uint32_t> type;
  std::span<const uint32_t> series;
  std::span<const uint32_t> stack;  // node
  std::span<const int64_t> time_unix_ms;
  std::span<const int64_t> value;
  std::span<const int64_t> count;
};

using RollupSink = std::function<base::Result<void>(const SeriesRollup&)>;

// Makes the roll-ups of rows that come sorted by (type, series), in any order within. Each series
// goes to the sink when it is complete, in order.
// Owner: one thread. The trie may grow meanwhile.
// Cost:  about 45 ns a row, writing the file included (index_bench, on a busy machine); memory is
//        that of the largest series and 4 bytes per callable.
// Errors: Corrupt for nodes that do not exist, InvalidInput for rows out of order; what sink gives.
class RollupBuilder {
 public:
  RollupBuilder(const NodeSource* source, RollupSink sink);
  ~RollupBuilder();
  base::Result<void> Add(const RollupRows& rows);
  base::Result<void> Finish();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

// Adds `from`, of the same type and series, to `into`.
void AddRollup(const SeriesRollup& from, SeriesRollup* into);

// The same with other ids: for volumes that are merged or closed. Where a map is empty, ids stay.
// Shape: the maps have all ids. The result is sorted.
void RemapRollup(const IdMaps& maps, SeriesRollup* rollup);

// The same for nodes alone.
void RemapNodes(std::span<const uint32_t> nodes, SeriesRollup* rollup);

// The functions of stacks that were summed: what RollupBuilder does with each series.
// Shape: `out` sorted by callable. Each group is a call of its own.
// Owner: one thread; keeps its memory from call to call.
class FunctionSummer {
 public:
  explicit FunctionSummer(const NodeSource* source);
  ~FunctionSummer();
  base::Result<void> Sum(std::span<const StackTotal> stacks, std::vector<FunctionTotal>* out);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace vesta::store::index
