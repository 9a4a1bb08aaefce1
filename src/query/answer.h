// Answers as data: what was found, of which window, and what was left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "src/flame/diff_table.h"
#include "src/flame/stack_tree.h"
#include "src/profile/profile.h"
#include "src/query/plan.h"
#include "src/query/request.h"
#include "src/store/store.h"

namespace vesta::query {

// Units: value in the type's unit; counts are samples.
struct ValueCount {
  int64_t value = 0;
  int64_t count = 0;
  void Add(const ValueCount& more) {
    value = profile::AddSaturating(value, more.value);
    count = profile::AddSaturating(count, more.count);
  }
  friend bool operator==(const ValueCount&, const ValueCount&) = default;
};

// What every answer says of itself: the plan has the ranges, the type and how many series there
// were.
struct About {
  std::vector<std::string> selectors;  // as understood
  Plan plan;
  std::vector<ValueCount> totals;  // per side, of all that was selected; none = not added up
  std::vector<std::string> notes;  // what a reader must know
  std::vector<StepReport> steps;
  QueryCost cost;
  // Of the column that was asked for.
  const std::string& type_name() const;
  const std::string& unit() const;
  int64_t Shown(const ValueCount& sum) const;
};

struct TopRow {
  std::string name;    // of function, file, binary or label's value; "" = code without a name
  std::string binary;  // of a function: path
  std::string file;    // of a function whose binary is unknown
  ValueCount self;
  ValueCount total;
};

// kTree, kDiff, kCallers, kCallees.
// Shape: value types of the tree: the count where it has a name, then the value; value_type is the
//        one asked for. With a cut, a child named flame::kRestName stands for what its parent lost.
struct TreeAnswer {
  About about;
  flame::StackTree tree;
  uint64_t nodes_all = 0;         // before the cut; at least, where a note says so
  std::vector<TopRow> functions;  // of kCallers, kCallees: what the name or pattern found
  std::vector<flame::DiffTable> difference;  // of kDiff: one, of the whole trees
  size_t rows_max = 0;                       // of the table
};

struct TopAnswer {
  About about;
  TopBy by = TopBy::kFunction;
  TopOrder order = TopOrder::kSelf;
  std::string label;
  std::vector<TopRow> rows;
  uint64_t rows_behind = 0;  // cut by the limit
  ValueCount self_behind;    // their sum
};

struct SeriesCell {
  uint64_t step = 0;
  ValueCount sum;
};
// Shape: steps that are 0 are left out.
struct SeriesRow {
  std::vector<std::string> values;  // of Plan::by
  ValueCount total;
  std::vector<SeriesCell> cells;  // by step
};
struct SeriesAnswer {
  About about;
  int64_t step_ms = 0;
  uint64_t step_count = 0;
  std::vector<SeriesRow> rows;  // largest first
  uint64_t rows_behind = 0;     // cut by the limit
  SeriesRow rest;               // their sum
};

struct LabelRow {
  std::string name;
  uint64_t values = 0;
  uint64_t series = 0;  // that have it
};
struct LabelsAnswer {
  About about;
  std::vector<LabelRow> rows;  // by name
  uint64_t rows_behind = 0;
};

// Shape: `sums` as ValuesAnswer::types.
struct ValueRow {
  std::string value;  // "" = series without the label
  uint64_t series = 0;
  std::vector<ValueCount> sums;
};
struct ValuesAnswer {
  About about;
  std::string label;
  std::vector<store::ProfileType> types;
  std::vector<ValueRow> rows;  // by value
  uint64_t rows_behind = 0;
  std::vector<ValueCount> sums_behind;
};

struct TypeRow {
  store::ProfileType type;
  uint64_t series = 0;
  ValueCount total;
};
struct TypesAnswer {
  About about;
  std::vector<TypeRow> rows;
};

// Shape: a sample counts once in the total of a line.
struct LineRow {
  std::string function;
  std::string binary;
  std::string file;
  uint32_t line = 0;
  ValueCount self;
  ValueCount total;
};
struct LinesAnswer {
  About about;
  std::vector<TopRow> functions;  // what the name or pattern found, each with its own figures
  std::vector<LineRow> rows;      // by function, file, line; only what has a line
  uint64_t rows_behind = 0;       // cut by the limit
  ValueCount self_behind;
};

// Shape: sample types: the count where it has a name, then the value; labels of Plan::by.
struct ProfileAnswer {
  About about;
  profile::Profile profile;
};

using Answer = std::variant<TreeAnswer, TopAnswer, SeriesAnswer, LabelsAnswer, ValuesAnswer,
                            TypesAnswer, LinesAnswer, ProfileAnswer>;

const About& AboutOf(const Answer& answer);

// What was asked, and of which time: "callers of parse, cpu{service.name=\"x\"},
// 2026-11-30T13:00:00Z to 2026-11-30T14:00:00Z".
std::string TitleOf(const About& about, const Request& request);

// One JSON object on one line. Not for ProfileAnswer, whose formats are those of src/wire.
std::string AnswerJson(const Answer& answer);

// A table for people. Of a tree: its functions. width_columns 0 = as wide as it gets.
std::string AnswerText(const Answer& answer, size_t width_columns);

}  // namespace vesta::query
