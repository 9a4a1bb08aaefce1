// A question as data: what the HTTP API and the command line make out of their parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/query/selector.h"
#include "src/store/store.h"

namespace vesta::query {

enum class Question : uint8_t {
  kTree,
  kTop,
  kSeries,
  kLabels,
  kValues,
  kTypes,
  kCallers,
  kCallees,
  kLines,
  kDiff,
  kProfile,
  kRows,  // asked by ExportRows (export_rows.h), not by Ask
};

// "tree", "top", ...; nothing for what is no question.
std::optional<Question> QuestionOf(std::string_view name);
std::string_view QuestionName(Question question);

enum class TopBy : uint8_t { kFunction, kFile, kBinary, kLabel };
enum class TopOrder : uint8_t { kSelf, kTotal };

inline constexpr size_t kNodesDefault = 8192;
inline constexpr size_t kRowsDefault = 100;

// Shape: one selector; of kDiff two: before, after. Fields that a question does not use are not
//        looked at.
struct Request {
  Question question = Question::kTree;
  std::vector<Selector> selectors;
  store::TimeRange range;  // of selectors without their own
  int64_t now_unix_ms = 0;
  // Labels, as the store has them: first frames of trees (kTree, kDiff, kCallers, kCallees), groups
  // (kSeries), sample labels (kProfile). Nothing = the process where there is one; of kSeries none.
  std::optional<std::vector<std::string>> by = std::nullopt;
  TopBy top_by = TopBy::kFunction;
  TopOrder top_order = TopOrder::kSelf;
  std::string label;                 // of kValues, and of kTop with TopBy::kLabel
  std::string function;              // of kCallers, kCallees, kLines
  bool function_is_pattern = false;  // RE2, found anywhere in the name
  bool normalize = false;            // of kDiff: shares are compared, not amounts
  size_t nodes_max = kNodesDefault;  // of trees; 0 = all
  bool lines = false;                // of trees: with the lines of functions, as pages show them
  size_t rows_max = kRowsDefault;    // of lists; 0 = all
  int64_t step_ms = 0;               // of kSeries; 0 = one that gives at most 240 steps
};

// Parameters as texts, as they come in a URL or on a command line; nothing = not given.
struct RequestText {
  std::optional<std::string> query;   // "" = everything of the default type
  std::optional<std::string> before;  // of diff: the other side; `query` is the side after
  std::optional<std::string> from;    // default: -1h
  std::optional<std::string> to;      // default: now
  std::optional<std::string> by;      // labels with commas between; "" = none. Of top one of
                                      // function, file, binary or a label
  std::optional<std::string> order;   // of top and diff: self, total
  std::optional<std::string> step;    // duration
  std::optional<std::string> max_nodes;
  std::optional<std::string> limit;
  std::optional<std::string> label;
  std::optional<std::string> function;   // a name, or a pattern between slashes: /^parse/
  std::optional<std::string> normalize;  // true, false
};

// Errors: InvalidInput naming the parameter.
base::Result<Request> MakeRequest(Question question, const RequestText& text, int64_t now_unix_ms);

}  // namespace vesta::query
