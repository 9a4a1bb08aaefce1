#include "src/query/ask.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/query/asking.h"

namespace vesta::query {
namespace {

// Groups that pid, tid and thread may make; the rest is counted together.
constexpr uint32_t kTaskGroupsMax = 20'000;
constexpr std::string_view kOtherTasks = "[rest]";

}  // namespace

base::Result<void> Asking::ListSide(size_t side) {
  const Selector& selector = request_.selectors[side];
  store::TimeRange range = request_.range;
  if (selector.range) {
    ASSIGN_OR_RETURN(range, ResolveRange(*selector.range, request_.now_unix_ms));
  }
  if (request_.question == Question::kSeries) {
    ASSIGN_OR_RETURN(const StepRange steps, ChooseSteps(range, request_.step_ms));
    range = steps.range;
    listing_.step_ms = steps.step_ms;
  }
  about_.selectors.push_back(SelectorText(selector));
  listing_.ranges.push_back(range);
  const int64_t start = Now();
  ASSIGN_OR_RETURN(auto rows, store_.Series(range, options_.limits, &report_));
  about_.steps.push_back({.what = "list series",
                          .range = range,
                          .series = rows.size(),
                          .blocks = 0,
                          .sums = 0,
                          .time_ns = Now() - start});
  uint64_t bytes = rows.size() * sizeof(rows[0]);
  for (const store::SeriesTotal& row : rows) {
    const auto [labels, is_new] = listing_.labels.try_emplace(row.series);
    if (is_new) {
      labels->second = store_.labels(row.series);
      for (const store::Label& label : labels->second)
        bytes += sizeof(label) + label.name.size() + label.value.size();
    }
    const auto [type, new_type] = listing_.types.try_emplace(row.type);
    if (new_type) type->second = store_.type(row.type);
  }
  RETURN_IF_ERROR(TakeMemory(bytes));
  listing_.series.push_back(std::move(rows));
  ASSIGN_OR_RETURN(LabelMatcher matcher, LabelMatcher::Compile(selector.matchers));
  matchers_.push_back(std::move(matcher));
  return {};
}

base::Result<void> Asking::Start() {
  start_ns_ = Now();
  for (size_t side = 0; side < request_.selectors.size(); ++side) RETURN_IF_ERROR(ListSide(side));
  ASSIGN_OR_RETURN(about_.plan, MakePlan(request_, listing_, options_.limits));
  about_.notes = about_.plan.notes;
  return {};
}

std::optional<uint32_t> Asking::RegroupTask(uint32_t group, const store::Task& task) {
  const Plan& plan = about_.plan;
  PlanGroup wanted = plan.groups[group];
  if (!matchers_[wanted.side].MatchesTask(task)) return std::nullopt;
  bool by_task = false;
  for (size_t i = 0; i < plan.by.size(); ++i) {
    if (!IsTaskLabel(plan.by[i])) continue;
    wanted.values[i] = TaskLabelValue(task, plan.by[i]);
    by_task = true;
  }
  if (!by_task) return group;
  auto known = task_groups_.find(wanted);
  if (known == task_groups_.end() && task_groups_.size() >= kTaskGroupsMax) {
    too_many_groups_ = true;
    for (size_t i = 0; i < plan.by.size(); ++i) {
      if (IsTaskLabel(plan.by[i])) wanted.values[i] = kOtherTasks;
    }
    known = task_groups_.find(wanted);
  }
  if (known == task_groups_.end()) {
    const auto fresh = static_cast<uint32_t>(plan.groups.size());
    known = task_groups_.emplace(wanted, fresh).first;
    about_.plan.groups.push_back(std::move(wanted));
  }
  return known->second;
}

store::ReadRequest Asking::ReadRequestOf(const PlanRead& read) {
  store::ReadRequest request;
  request.range = read.range;
  request.types = read.types;
  request.series = read.series;
  request.group_count = static_cast<uint32_t>(about_.plan.groups.size());
  request.limits = options_.limits;
  if (about_.plan.by_tasks) {
    // One more for each group of series, for the tasks beyond the cap.
    request.group_count = 2 * request.group_count + kTaskGroupsMax;
    request.regroup = [this](uint32_t group, const store::Task& task) {
      return RegroupTask(group, task);
    };
  }
  return request;
}

void Asking::AddStep(const char* what, const PlanRead& read, uint64_t blocks, uint64_t sums,
                     int64_t start) {
  about_.steps.push_back({.what = what,
                          .range = read.range,
                          .series = read.series.size(),
                          .blocks = blocks,
                          .sums = sums,
                          .time_ns = Now() - start});
}

base::Result<void> Asking::Stacks(const PlanRead& read,
                                  const store::Sink<store::StackBlock>& sink) {
  const int64_t start = Now();
  uint64_t blocks = 0, sums = 0;
  RETURN_IF_ERROR(store_.Stacks(ReadRequestOf(read), &report_,
                                [&](const store::StackBlock& block) -> base::Result<void> {
                                  ++blocks;
                                  sums += block.sums.size();
                                  return sink(block);
                                }));
  AddStep("read stacks", read, blocks, sums, start);
  return {};
}

base::Result<void> Asking::Functions(const PlanRead& read,
                                     const store::Sink<store::FunctionBlock>& sink) {
  const int64_t start = Now();
  uint64_t blocks = 0, sums = 0;
  RETURN_IF_ERROR(store_.Functions(ReadRequestOf(read), &report_,
                                   [&](const store::FunctionBlock& block) -> base::Result<void> {
                                     ++blocks;
                                     sums += block.sums.size();
                                     return sink(block);
                                   }));
  AddStep("read functions", read, blocks, sums, start);
  return {};
}

base::Result<void> Asking::Rows(const PlanRead& read, const store::Sink<store::RowBlock>& sink) {
  const int64_t start = Now();
  uint64_t blocks = 0, rows = 0;
  RETURN_IF_ERROR(store_.Rows(ReadRequestOf(read), &report_,
                              [&](const store::RowBlock& block) -> base::Result<void> {
                                ++blocks;
                                rows += block.rows.size();
                                return sink(block);
                              }));
  AddStep("read rows", read, blocks, rows, start);
  return {};
}

base::Result<std::vector<store::TimelineCell>> Asking::Timeline(const PlanRead& read) {
  const int64_t start = Now();
  ASSIGN_OR_RETURN(auto cells, store_.Timeline(ReadRequestOf(read), read.step_ms, &report_));
  AddStep("read timeline", read, 0, cells.size(), start);
  return cells;
}

base::Result<std::vector<ValueCount>> Asking::GroupTotals(const PlanRead& read) {
  std::vector<ValueCount> totals;
  const auto add = [&](uint32_t group, int64_t value, int64_t count) {
    if (group >= totals.size()) totals.resize(group + size_t{1});
    totals[group].Add({value, count});
  };
  if (read.kind == ReadKind::kTimeline) {
    ASSIGN_OR_RETURN(const auto cells, Timeline(read));
    for (const store::TimelineCell& cell : cells) add(cell.group, cell.value, cell.count);
  } else {
    std::map<store::SeriesId, uint32_t> group_of;
    for (const store::GroupedSeries& row : read.series) group_of.emplace(row.series, row.group);
    const std::set<store::TypeId> types(read.types.begin(), read.types.end());
    for (const store::SeriesTotal& row : listing_.series[0]) {
      const auto group = group_of.find(row.series);
      if (group != group_of.end() && types.contains(row.type))
        add(group->second, row.value, row.count);
    }
  }
  totals.resize(about_.plan.groups.size());
  return totals;
}

base::Result<ValueCount> Asking::TotalOfRange() {
  ValueCount sum;
  for (PlanRead read : plan().reads) {
    if (plan().by_tasks || store::WidenToMinutes(read.range) != read.range) {
      read.kind = ReadKind::kTimeline;
      if (__builtin_sub_overflow(read.range.to_unix_ms, read.range.from_unix_ms, &read.step_ms))
        return base::Error(base::ErrorCode::kInvalidInput, "the range is too long");
    } else {
      read.kind = ReadKind::kTotals;
    }
    ASSIGN_OR_RETURN(const std::vector<ValueCount> totals, GroupTotals(read));
    for (const ValueCount& total : totals) sum.Add(total);
  }
  return sum;
}

void Asking::AddTotal(size_t side, const ValueCount& sum) {
  about_.totals.resize(request_.selectors.size());
  about_.totals[side].Add(sum);
}

About Asking::TakeAbout() {
  if (too_many_groups_) {
    about_.notes.push_back("there are more tasks than " + std::to_string(kTaskGroupsMax) +
                           ": those beyond are counted together as " + std::string(kOtherTasks));
  }
  for (std::string& note : report_.notes) {
    if (std::ranges::find(about_.notes, note) == about_.notes.end())
      about_.notes.push_back(std::move(note));
  }
  about_.cost = {
      .time_ns = Now() - start_ns_,
      .memory_bytes = options_.limits.memory == nullptr ? 0 : options_.limits.memory->peak_bytes(),
      .files = report_.files,
      .rows = report_.rows,
      .row_bytes = report_.row_bytes,
      .index_bytes = report_.index_bytes};
  return std::move(about_);
}

base::Result<Answer> Ask(store::Store& store, const Request& request, const AskOptions& options) {
  Asking asking(store, request, options);
  RETURN_IF_ERROR(asking.Start());
  switch (request.question) {
    case Question::kTree:
    case Question::kDiff:
    case Question::kCallers:
    case Question::kCallees:
      return AskTree(asking);
    case Question::kTop:
      return AskTop(asking);
    case Question::kSeries:
      return AskSeries(asking);
    case Question::kLabels:
      return AskLabels(asking);
    case Question::kValues:
      return AskValues(asking);
    case Question::kTypes:
      return AskTypes(asking);
    case Question::kLines:
      return AskLines(asking);
    case Question::kProfile:
      return AskProfile(asking);
    case Question::kRows:
      break;
  }
  return base::Error(base::ErrorCode::kUnsupported, "rows are exported, not answered");
}

}  // namespace vesta::query
