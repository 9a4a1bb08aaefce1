// What is asked of the store to answer a question: pure data, made after the store has listed its
// series.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/query/request.h"
#include "src/store/store.h"

namespace vesta::query {

enum class ReadKind : uint8_t { kStacks, kFunctions, kTimeline, kTotals, kRows };
std::string_view ReadKindName(ReadKind kind);

// What a group of a read stands for.
// Shape: values of Plan::by, "" where a series lacks the label; those of pid, tid and thread are
//        only known when rows have been read.
struct PlanGroup {
  size_t side = 0;  // 0, or 1 = after, of a difference
  std::vector<std::string> values;
  friend auto operator<=>(const PlanGroup&, const PlanGroup&) = default;
};

// One read of the store.
struct PlanRead {
  ReadKind kind = ReadKind::kStacks;
  store::TimeRange range;
  std::vector<store::TypeId> types;
  std::vector<store::GroupedSeries> series;
  int64_t step_ms = 0;  // of kTimeline
};

// Which type was meant, and which of its columns.
struct PlanType {
  store::ProfileType type;
  bool shows_count = false;  // the count column was named
};

struct Plan {
  Question question = Question::kTree;
  PlanType type;
  std::vector<std::string> by;
  std::vector<PlanGroup> groups;         // shared by all reads
  std::vector<store::TimeRange> ranges;  // by side
  std::vector<uint64_t> series;          // that were selected, by side
  int64_t step_ms = 0;                   // of kSeries
  bool by_tasks = false;                 // selectors or `by` name pid, tid or thread: rows are read
  std::vector<PlanRead> reads;
  std::vector<std::string> notes;
};

// What the store listed, which a plan is made of.
struct Listing {
  std::vector<store::TimeRange> ranges;                 // by side
  std::vector<std::vector<store::SeriesTotal>> series;  // by side
  std::map<store::SeriesId, store::Labels> labels;
  std::map<store::TypeId, store::ProfileType> types;
  int64_t step_ms = 0;  // of kSeries, whose range is in whole steps already (ChooseSteps)
};

// Errors: InvalidInput when the question cannot be asked of what there is: types of several units,
//         or several types and none named, listing them; too many steps. As
//         store::ReadGuard::Check, since patterns may take long with many series.
base::Result<Plan> MakePlan(const Request& request, const Listing& listing,
                            const store::ReadLimits& limits = {});

// The range of a timeline and its step: whole steps where the step is whole minutes, so that the
// store can answer from its roll-ups.
struct StepRange {
  store::TimeRange range;
  int64_t step_ms = 0;
};
// Shape: step_ms 0 = one that gives at most 240 steps.
// Errors: InvalidInput beyond 11,000 steps.
base::Result<StepRange> ChooseSteps(store::TimeRange range, int64_t step_ms);

// What a step read, for --explain.
// Units: time_ns 0 = nobody gave a clock.
struct StepReport {
  std::string what;  // "list series", "read stacks", "cut"
  store::TimeRange range;
  uint64_t series = 0;
  uint64_t blocks = 0;
  uint64_t sums = 0;  // (node, group), (function, group) or cells
  int64_t time_ns = 0;
};

// What all of it together took.
// Units: memory_bytes is the most at once; 0 = nobody counted.
struct QueryCost {
  int64_t time_ns = 0;
  uint64_t memory_bytes = 0;
  uint64_t files = 0;
  uint64_t rows = 0;         // that were looked at one by one
  uint64_t row_bytes = 0;    // of these, unpacked
  uint64_t index_bytes = 0;  // of sums and stacks that were read beside them, unpacked
};

std::string ExplainText(const Plan& plan, const std::vector<StepReport>& steps,
                        const QueryCost& cost);
std::string ExplainJson(const Plan& plan, const std::vector<StepReport>& steps,
                        const QueryCost& cost);

}  // namespace vesta::query
