#include "src/cli/always_on/exclusion_rule.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/agent/sample_labels.h"
#include "src/query/matcher.h"
#include "src/query/selector.h"

namespace vesta::cli {
namespace {

// What may be asked of a process here; a name beyond that would exclude nothing, silently.
std::vector<std::string> LabelsOfProcesses(const batch::Labels& host_labels) {
  std::vector<std::string> names = {
      "container.id",    "exe",          "k8s.pod.uid", "pid", "process", "service.name",
      "service.version", "service.rule", "systemd.unit"};
  for (const batch::Label& label : host_labels) names.push_back(label.name);
  return names;
}

base::Error NoSuchLabel(const std::string& name, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  return base::Error(
      base::ErrorCode::kInvalidInput,
      "whole processes are excluded, and a process has no label " + name + ", only " + list);
}

base::Result<query::LabelMatcher> MatcherOf(const std::string& text,
                                            const std::vector<std::string>& names) {
  const auto bad = [](const std::string& why) {
    return base::Error(base::ErrorCode::kInvalidInput, why);
  };
  ASSIGN_OR_RETURN(const query::Selector selector, query::ParseSelector(text));
  if (!selector.type.empty() || selector.range) {
    return bad("processes are told by labels alone, as in {service=\"vault\"}");
  }
  if (selector.matchers.empty()) return bad("it would exclude every process");
  for (const query::Matcher& matcher : selector.matchers) {
    if (std::ranges::find(names, matcher.name) == names.end()) {
      return NoSuchLabel(matcher.name, names);
    }
  }
  return query::LabelMatcher::Compile(selector.matchers);
}

}  // namespace

base::Result<agent::process::ExclusionRule> MakeExclusionRule(
    const std::vector<std::string>& selectors, const batch::Labels& host_labels) {
  if (selectors.empty()) return agent::process::ExclusionRule();
  const std::vector<std::string> names = LabelsOfProcesses(host_labels);
  auto matchers = std::make_shared<std::vector<query::LabelMatcher>>();
  for (const std::string& text : selectors) {
    auto matcher = MatcherOf(text, names);
    if (!matcher.ok()) return matcher.error().Context("--exclude " + text);
    matchers->push_back(std::move(*matcher));
  }
  return agent::process::ExclusionRule([matchers,
                                        host_labels](const agent::process::TaskInfo& task) {
    const batch::Labels labels = agent::SeriesLabels(host_labels, &task, task.comm, ABI_STOP_ROOT);
    return std::ranges::any_of(*matchers, [&](const query::LabelMatcher& matcher) {
      return matcher.MatchesSeries(labels) && matcher.MatchesTask({task.pid, 0, ""});
    });
  });
}

}  // namespace vesta::cli
