// Matchers made ready to be asked about many series and tasks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/query/selector.h"
#include "src/store/batch.h"

namespace vesta::query {

// An RE2 expression of bounded size and memory.
class Pattern {
 public:
  // Errors: InvalidInput as RE2 tells, also for patterns that would need too much memory.
  static base::Result<Pattern> Compile(std::string_view pattern);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();
  bool Matches(std::string_view text) const;  // the whole text
  bool Finds(std::string_view text) const;    // anywhere in it

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

// Cost: a comparison per matcher; patterns are linear in the value's length.
class LabelMatcher {
 public:
  static base::Result<LabelMatcher> Compile(const std::vector<Matcher>& matchers);

  // Of matchers of task labels, nothing is asked here.
  bool MatchesSeries(const store::Labels& labels) const;
  bool MatchesTask(const store::Task& task) const;
  bool asks_tasks() const { return !task_.empty(); }

 private:
  struct Test {
    Matcher matcher;
    std::vector<Pattern> pattern;  // one where the kind needs it
    bool Holds(std::string_view value) const;
  };
  std::vector<Test> series_;
  std::vector<Test> task_;
};

// "" where there is none; a pid or tid as a number, "" for 0.
std::string_view LabelValue(const store::Labels& labels, std::string_view name);
std::string TaskLabelValue(const store::Task& task, std::string_view name);

}  // namespace vesta::query
