#include "src/query/request.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/query/matcher.h"

namespace vesta::query {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::pair<std::string_view, Question> kQuestions[] = {
    {"tree", Question::kTree},       {"top", Question::kTop},         {"series", Question::kSeries},
    {"labels", Question::kLabels},   {"values", Question::kValues},   {"types", Question::kTypes},
    {"callers", Question::kCallers}, {"callees", Question::kCallees}, {"lines", Question::kLines},
    {"diff", Question::kDiff},       {"profile", Question::kProfile}, {"rows", Question::kRows}};
constexpr size_t kByMax = 16;

Error Bad(std::string_view parameter, const std::string& what) {
  return Error(ErrorCode::kInvalidInput, std::string(parameter) + ": " + what);
}

base::Result<size_t> Count(std::string_view parameter, const std::optional<std::string>& text,
                           size_t if_absent) {
  if (!text) return if_absent;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size())
    return Bad(parameter, "\"" + *text + "\" is no number up to 4294967295; 0 = all");
  return size_t{value};
}

std::vector<std::string> SplitNames(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    std::string stored = StoredLabelName(name);
    if (!stored.empty() && std::ranges::find(names, stored) == names.end())
      names.push_back(std::move(stored));
  }
  return names;
}

base::Result<void> ReadGroups(const RequestText& text, Request& request) {
  if (!text.by) return {};
  if (request.question == Question::kTop) {
    if (*text.by == "function" || text.by->empty()) {
      request.top_by = TopBy::kFunction;
    } else if (*text.by == "file") {
      request.top_by = TopBy::kFile;
    } else if (*text.by == "binary") {
      request.top_by = TopBy::kBinary;
    } else if (text.by->find(',') != std::string::npos) {
      return Bad("by",
                 "a table is by one of function, file, binary or a label; a series and the "
                 "first frames of a tree take several labels");
    } else {
      request.top_by = TopBy::kLabel;
      request.label = StoredLabelName(*text.by);
    }
    return {};
  }
  request.by = SplitNames(*text.by);
  if (request.by->size() > kByMax) return Bad("by", "at most 16 labels");
  return {};
}

base::Result<void> ReadFunction(const RequestText& text, Request& request) {
  const bool needs = request.question == Question::kCallers ||
                     request.question == Question::kCallees || request.question == Question::kLines;
  if (!needs) return {};
  if (!text.function || text.function->empty())
    return Bad("function", "give a function's name, or a pattern between slashes");
  request.function = *text.function;
  const std::string& name = request.function;
  request.function_is_pattern = name.size() > 2 && name.front() == '/' && name.back() == '/';
  if (!request.function_is_pattern) return {};
  request.function = name.substr(1, name.size() - 2);
  const auto pattern = Pattern::Compile(request.function);
  if (!pattern.ok()) return pattern.error().Context("function");
  return {};
}

base::Result<void> ReadOrder(const RequestText& text, Request& request) {
  if (text.order && *text.order != "self" && *text.order != "total")
    return Bad("order", "\"" + *text.order + "\" is neither self nor total");
  if (text.order && *text.order == "total") request.top_order = TopOrder::kTotal;
  if (text.normalize && *text.normalize != "true" && *text.normalize != "false")
    return Bad("normalize", "\"" + *text.normalize + "\" is neither true nor false");
  request.normalize = text.normalize == "true";
  return {};
}

}  // namespace

std::optional<Question> QuestionOf(std::string_view name) {
  for (const auto& [text, question] : kQuestions) {
    if (text == name) return question;
  }
  return std::nullopt;
}

std::string_view QuestionName(Question question) {
  for (const auto& [text, value] : kQuestions) {
    if (value == question) return text;
  }
  return {};
}

base::Result<Request> MakeRequest(Question question, const RequestText& text, int64_t now_unix_ms) {
  Request request;
  request.question = question;
  request.now_unix_ms = now_unix_ms;
  if (question == Question::kDiff) {
    if (!text.before) return Bad("before", "a difference needs the selector of the side before");
    auto before = ParseSelector(*text.before);
    if (!before.ok()) return before.error().Context("before");
    request.selectors.push_back(std::move(*before));
  }
  auto selector = ParseSelector(text.query.value_or(""));
  if (!selector.ok()) return selector.error().Context("query");
  request.selectors.push_back(std::move(*selector));

  const auto from = ParseTime(text.from.value_or("-1h"));
  if (!from.ok()) return from.error().Context("from");
  const auto to = ParseTime(text.to.value_or("now"));
  if (!to.ok()) return to.error().Context("to");
  auto range = ResolveRange({*from, *to}, now_unix_ms);
  if (!range.ok()) return range.error().Context("from");
  request.range = *range;

  RETURN_IF_ERROR(ReadGroups(text, request));
  RETURN_IF_ERROR(ReadFunction(text, request));
  RETURN_IF_ERROR(ReadOrder(text, request));
  ASSIGN_OR_RETURN(request.nodes_max, Count("max_nodes", text.max_nodes, kNodesDefault));
  if (request.nodes_max == 1) return Bad("max_nodes", "at least 2; 0 = all");
  ASSIGN_OR_RETURN(request.rows_max, Count("limit", text.limit, kRowsDefault));
  if (text.step) {
    auto step = ParseDurationMs(*text.step);
    if (!step.ok()) return step.error().Context("step");
    request.step_ms = *step;
  }
  if (question == Question::kValues) {
    if (!text.label || text.label->empty()) return Bad("label", "give the name of a label");
    request.label = StoredLabelName(*text.label);
  }
  return request;
}

}  // namespace vesta::query
