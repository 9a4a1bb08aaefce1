#include "src/query/matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace vesta::query {
namespace {

constexpr int64_t kPatternMemoryBytes = 1 << 20;
constexpr size_t kPatternBytesMax = 4 << 10;

}  // namespace

struct Pattern::Compiled {
  Compiled(std::string_view pattern, const RE2::Options& options)
      : regex(re2::StringPiece(pattern.data(), pattern.size()), options) {}
  RE2 regex;
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

base::Result<Pattern> Pattern::Compile(std::string_view pattern) {
  const auto bad = [&](const std::string& why) {
    return base::Error(base::ErrorCode::kInvalidInput, "the pattern is no RE2 expression: " + why);
  };
  if (pattern.size() > kPatternBytesMax) return bad("it has more than 4,096 bytes");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemoryBytes);
  auto compiled = std::make_unique<Compiled>(pattern, options);
  if (!compiled->regex.ok()) return bad(compiled->regex.error());
  return Pattern(std::move(compiled));
}

bool Pattern::Matches(std::string_view text) const {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), compiled_->regex);
}

bool Pattern::Finds(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->regex);
}

base::Result<LabelMatcher> LabelMatcher::Compile(const std::vector<Matcher>& matchers) {
  LabelMatcher result;
  for (const Matcher& matcher : matchers) {
    Test test{matcher, {}};
    if (matcher.kind == MatchKind::kMatches || matcher.kind == MatchKind::kMatchesNot) {
      auto pattern = Pattern::Compile(matcher.value);
      if (!pattern.ok()) return pattern.error().Context("label " + matcher.name);
      test.pattern.push_back(std::move(*pattern));
    }
    (IsTaskLabel(matcher.name) ? result.task_ : result.series_).push_back(std::move(test));
  }
  return result;
}

bool LabelMatcher::Test::Holds(std::string_view value) const {
  switch (matcher.kind) {
    case MatchKind::kEqual:
      return value == matcher.value;
    case MatchKind::kNotEqual:
      return value != matcher.value;
    case MatchKind::kMatches:
      return pattern[0].Matches(value);
    case MatchKind::kMatchesNot:
      return !pattern[0].Matches(value);
  }
  return false;
}

bool LabelMatcher::MatchesSeries(const store::Labels& labels) const {
  return std::ranges::all_of(
      series_, [&](const Test& test) { return test.Holds(LabelValue(labels, test.matcher.name)); });
}

bool LabelMatcher::MatchesTask(const store::Task& task) const {
  return std::ranges::all_of(
      task_, [&](const Test& test) { return test.Holds(TaskLabelValue(task, test.matcher.name)); });
}

std::string_view LabelValue(const store::Labels& labels, std::string_view name) {
  for (const store::Label& label : labels) {
    if (label.name == name) return label.value;
  }
  return {};
}

std::string TaskLabelValue(const store::Task& task, std::string_view name) {
  const auto number = [](uint32_t id) { return id == 0 ? std::string() : std::to_string(id); };
  if (name == "pid") return number(task.pid);
  if (name == "tid") return number(task.tid);
  return task.thread;
}

}  // namespace vesta::query
