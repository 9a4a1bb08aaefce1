// Where profiles are kept: what every backend can do, in the nouns of profiles.
//
// Queries ask in two steps: Series() lists what there is, the caller chooses and groups, and one of
// the reads below adds up what was chosen. All reads give sums over blocks; a block has its own
// numbers for stacks and names, and the caller adds equal ones of several blocks together.
//
// Units: values and counts are >= 0 and sums of them stop at the largest int64 (saturate), so that
//        the order of adding does not matter. Whoever adds up blocks does the same
//        (profile::AddSaturating).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/byte_budget.h"
#include "src/base/calendar.h"
#include "src/base/result.h"
#include "src/base/strong_id.h"
#include "src/store/batch.h"

namespace vesta::store {

// Dense, counted from 0; they mean something only together with the open Store that gave them out.
using SeriesId = base::StrongId<struct SeriesIdTag>;
using TypeId = base::StrongId<struct TypeIdTag>;

// [from, to)
struct TimeRange {
  int64_t from_unix_ms = std::numeric_limits<int64_t>::min();
  int64_t to_unix_ms = std::numeric_limits<int64_t>::max();
  bool Contains(int64_t time_unix_ms) const {
    return from_unix_ms <= time_unix_ms && time_unix_ms < to_unix_ms;
  }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// The range of whole minutes (multiples of 60,000 ms, also before 1970) that holds the range; the
// limits of int64 stay as they are.
constexpr TimeRange WidenToMinutes(TimeRange range) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (range.from_unix_ms >= range.to_unix_ms) return range;
  const int64_t before = base::FloorRemainder(range.from_unix_ms, base::kMinuteMs);
  const int64_t past = base::FloorRemainder(range.to_unix_ms, base::kMinuteMs);
  const int64_t behind = past == 0 ? 0 : base::kMinuteMs - past;
  range.from_unix_ms = range.from_unix_ms < kMin + before ? kMin : range.from_unix_ms - before;
  range.to_unix_ms = range.to_unix_ms > kMax - behind ? kMax : range.to_unix_ms + behind;
  return range;
}

// How long and how large a read may become, and whether anybody still waits for it. Looked at when
// a read begins, and then often enough that it ends within some 10 ms.
struct ReadLimits {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  uint64_t memory_bytes_max = uint64_t{1} << 30;  // of what the read makes, mapped files apart
  const std::atomic<bool>* cancelled = nullptr;   // set by another thread
  // Where it is taken from, so that all reads of a question and what is made of them stay below one
  // limit; nothing = each read has a limit of its own.
  base::ByteBudget* memory = nullptr;
};

// A series of one type with what it has in a range.
struct SeriesTotal {
  SeriesId series;
  TypeId type;
  int64_t value = 0;
  int64_t count = 0;
};

struct GroupedSeries {
  SeriesId series;
  uint32_t group = 0;  // < ReadRequest::group_count
};

// Sends the rows of a task to another group, or away (nothing): for selectors and groupings that
// name pid, tid or thread. Called once per group and task of a block.
using Regroup = std::function<std::optional<uint32_t>(uint32_t group, const Task& task)>;

struct ReadRequest {
  TimeRange range = {};
  std::vector<TypeId> types = {};
  std::vector<GroupedSeries> series = {};  // each once
  uint32_t group_count = 1;                // Regroup may go up to this
  Regroup regroup = nullptr;               // nothing = tasks do not matter, which is much faster
  ReadLimits limits = {};
};

// What a reader of the answer must know: days or files that could not be asked.
struct ReadReport {
  std::vector<std::string> notes;  // sentences
  // What the reads had to look at, for --explain: files, and rows one by one where sums were not
  // enough, with the bytes of their columns, unpacked.
  uint64_t files = 0;
  uint64_t rows = 0;
  uint64_t row_bytes = 0;
  uint64_t index_bytes = 0;  // of sums and of the trie of stacks, unpacked
};

// Names behind the numbers of a block. Views live as long as the block.
struct ImageView {
  std::string_view path;
  std::string_view build_id;  // hex
  uint64_t memory_start = 0;  // these as in profile::Mapping
  uint64_t memory_limit = 0;
  uint64_t file_offset = 0;
};
struct FunctionView {
  std::string_view name;
  std::string_view system_name;
  std::string_view file;
  int64_t start_line = 0;
};
struct FrameLine {
  uint32_t function = 0;
  int64_t line = 0;
  int64_t column = 0;
};
// As profile::Location.
struct FrameView {
  uint32_t image = 0;  // 0 = of none
  uint64_t address = 0;
  bool is_folded = false;
  std::span<const FrameLine> lines = {};  // innermost first; lives until the next call of frame()
};

class Names {
 public:
  virtual ~Names() = default;
  // Errors: Corrupt when what they were read from is damaged.
  virtual base::Result<FrameView> frame(uint32_t id) const = 0;
  virtual base::Result<FunctionView> function(uint32_t id) const = 0;
  virtual base::Result<ImageView> image(uint32_t id) const = 0;
};

struct StackSum {
  uint32_t node = 0;  // of the block; the innermost frame, 0 = a sample without frames
  uint32_t group = 0;
  int64_t value = 0;
  int64_t count = 0;
};

// Shape: a trie. Node 0 is the root and has no frame; node i > 0 is called by parent[i] < i and
//        stands for frame[i] of `names`. Each (node, group) at most once, in no order. Nodes that
//        lead to no sum may be there.
struct StackBlock {
  const Names* names = nullptr;
  std::span<const uint32_t> parent;
  std::span<const uint32_t> frame;
  std::span<const StackSum> sums;
};

// What a row of a table of functions stands for: as flame::TopRow tells them apart.
struct CallableView {
  std::string_view name;   // for people, else the system's; "" = code without a name
  std::string_view image;  // path; "" = unknown
  std::string_view file;   // only of a function with a name whose image is ""
};
struct FunctionSum {
  uint32_t callable = 0;  // of the block
  uint32_t group = 0;
  int64_t self = 0;   // values of samples whose innermost (inlined) frame it is
  int64_t total = 0;  // values of samples that it is in, each once
  int64_t self_count = 0;
  int64_t total_count = 0;
};
class Callables {
 public:
  virtual ~Callables() = default;
  virtual base::Result<CallableView> callable(uint32_t id) const = 0;
  // CallableHash (callable_hash.h) of the view where it is cheaper than the view, else 0.
  virtual base::Result<uint64_t> callable_hash(uint32_t /*id*/) const { return uint64_t{0}; }
};
// Shape: each (callable, group) at most once.
struct FunctionBlock {
  const Callables* callables = nullptr;
  std::span<const FunctionSum> sums;
};

struct TimelineCell {
  uint32_t group = 0;
  uint64_t step = 0;  // from range.from on
  int64_t value = 0;
  int64_t count = 0;
};

// Raw rows, for export and for whoever must see each one.
struct StoredRow {
  SeriesId series;
  TypeId type;
  uint32_t group = 0;
  uint32_t task = 0;  // of the block
  uint32_t node = 0;  // of the block's trie
  int64_t time_unix_ms = 0;
  int64_t value = 0;
  int64_t count = 0;
  float weight = 1;
};
struct RowBlock {
  const Names* names = nullptr;
  std::span<const uint32_t> parent;
  std::span<const uint32_t> frame;
  std::span<const Task> tasks;
  std::span<const StoredRow> rows;
};

template <typename Block>
using Sink = std::function<base::Result<void>(const Block&)>;

// What a store holds and what became of all it was given since it was first started.
struct StoreStatus {
  uint64_t days = 0;
  uint64_t rows = 0;    // that can be read now
  uint64_t series = 0;  // the overflow series included
  uint64_t disk_bytes = 0;
  std::optional<TimeRange> range = std::nullopt;  // of all rows: [first, last + 1 ms)
  AppendOutcome book;                             // summed
  uint64_t rows_expired = 0;                      // kept once, gone by retention
  uint64_t rows_quarantined = 0;                  // in files that were set aside as damaged
  std::optional<std::string> refuses_writes = std::nullopt;  // why, and what to do
  SymbolsOutcome symbols;      // summed, since this process opened the store
  uint64_t symbol_places = 0;  // places of which a name is known that came late
};

// Shape of all reads: report is never nullptr and gets notes added. A read sees all rows that a
//         batch put into one day, or none of them. A request's types and series are ones that this
//         store gave out; groups, those that Regroup answers included, are < group_count. Sinks and
//         Regroup may call type() and labels().
// Errors of all reads: Exhausted beyond the limits, naming the limit and how to ask for less;
//         Unavailable when cancelled; what sink returns. A damaged file is no error: it is set
//         aside, the rest is read, and the report says so.
// Threads: any number may call anything at once.
class Store {
 public:
  virtual ~Store() = default;

  // Durable when it returns. A row's time says to which day it belongs; days are written one by
  // one. The batch is checked by CheckBatch. With an id it is counted once, however often it is
  // sent: a time of arrival that is another day's by then changes nothing. A batch of which no row
  // was kept may be sent again and is looked at again.
  // Series take their places under the cap in the order of Batch::series, those without a kept row
  // take none; the overflow series needs none.
  // Errors: InvalidInput naming the field; Unavailable when the disk is full, the store is being
  //         closed or has no room yet: try again later. Nothing of the batch was counted then, or,
  //         if it has an id, perhaps some of its days, which are not counted again. Internal when
  //         that befell a batch without an id, with how many rows were kept.
  virtual base::Result<AppendOutcome> Append(const Batch& batch) = 0;

  // Names that are told of places, whatever names the rows came with: all reads that begin after
  // this returns show them, of rows that are there and of rows that come later. Durable when it
  // returns. A place is an address of an image; an image is its build id, or its path where it has
  // none. A frame into which several addresses were folded keeps its names.
  // Of two batches that name a place the one that came later holds; one with an id that came before
  // changes nothing, nor does one that says what is known. A name is kept as long as the rows that
  // were there when it came may be.
  // Errors: InvalidInput naming the field; Unavailable as Append: send it again.
  virtual base::Result<SymbolsOutcome> AppendSymbols(const SymbolBatch& batch) = 0;

  virtual ProfileType type(TypeId id) const = 0;
  // Both stay the same as long as the store is open. The overflow series has the one label
  // {kOverflowLabel, "true"}.
  virtual Labels labels(SeriesId id) const = 0;

  // All series with rows in the range, of every type; each (series, type) once, in no order.
  // Units: the sums are exact when both ends are whole minutes (as multiples of 60,000 ms, or the
  //        limits of int64); else the range is widened to whole minutes.
  virtual base::Result<std::vector<SeriesTotal>> Series(TimeRange range, const ReadLimits& limits,
                                                        ReadReport* report) = 0;
  virtual base::Result<void> Stacks(const ReadRequest& request, ReadReport* report,
                                    const Sink<StackBlock>& sink) = 0;
  virtual base::Result<void> Functions(const ReadRequest& request, ReadReport* report,
                                       const Sink<FunctionBlock>& sink) = 0;
  // Shape: only cells that are not 0, each (group, step) once, in no order. Both ends of the range
  //        must be finite. step_ms > 0; whole minutes from a whole minute on are fastest.
  // Errors: InvalidInput for another range or step.
  virtual base::Result<std::vector<TimelineCell>> Timeline(const ReadRequest& request,
                                                           int64_t step_ms, ReadReport* report) = 0;
  virtual base::Result<void> Rows(const ReadRequest& request, ReadReport* report,
                                  const Sink<RowBlock>& sink) = 0;

  virtual StoreStatus Status() const = 0;
};

// Takes the rows of series beyond the cap on series.
inline constexpr std::string_view kOverflowLabel = "vesta.overflow";

}  // namespace vesta::store
