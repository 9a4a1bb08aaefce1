// One question while it is being answered: what the answers have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/query/ask.h"
#include "src/query/matcher.h"
#include "src/query/plan.h"
#include "src/query/stack_merge.h"
#include "src/store/read_guard.h"
#include "src/store/store.h"

namespace vesta::query {

class Asking {
 public:
  Asking(store::Store& store, const Request& request, const AskOptions& options)
      : store_(store), request_(request), options_(options), made_(options.limits) {}

  // Lists the series and plans.
  base::Result<void> Start();

  store::Store& store() { return store_; }
  const Request& request() const { return request_; }
  const store::ReadLimits& limits() const { return options_.limits; }
  const Plan& plan() const { return about_.plan; }
  const Listing& listing() const { return listing_; }
  bool has_count() const { return !about_.plan.type.type.count_type.empty(); }

  // The read as the store takes it. With tasks, groups are made while it runs.
  store::ReadRequest ReadRequestOf(const PlanRead& read);
  const std::vector<PlanGroup>& groups() const { return about_.plan.groups; }

  base::Result<void> Stacks(const PlanRead& read, const store::Sink<store::StackBlock>& sink);
  base::Result<void> Functions(const PlanRead& read, const store::Sink<store::FunctionBlock>& sink);
  base::Result<void> Rows(const PlanRead& read, const store::Sink<store::RowBlock>& sink);
  base::Result<std::vector<store::TimelineCell>> Timeline(const PlanRead& read);
  // Sums per group of a read of kTotals, or of kTimeline with one step.
  base::Result<std::vector<ValueCount>> GroupTotals(const PlanRead& read);

  bool MatchesSeries(store::SeriesId series) const {
    return matchers_[0].MatchesSeries(listing_.labels.at(series));
  }
  // Of all that is read for side 0, samples without a stack included.
  base::Result<ValueCount> TotalOfRange();

  // Runs a step of our own, so that it is in the list of steps.
  template <typename Step>
  auto Timed(const std::string& what, const Step& step) {
    const int64_t start = Now();
    auto result = step();
    about_.steps.push_back({.what = what, .range = {}, .time_ns = Now() - start});
    return result;
  }
  void AddTotal(size_t side, const ValueCount& sum);
  void AddNote(std::string note) { about_.notes.push_back(std::move(note)); }
  base::Result<void> CheckLimits() const { return made_.Check(); }
  // Counts what is made of the reads, until the answer is there.
  // Errors: as ReadGuard::Take.
  base::Result<void> TakeMemory(uint64_t bytes) { return made_.Take(bytes); }

  // The last thing: what the answer says of itself.
  About TakeAbout();

 private:
  int64_t Now() const { return options_.clock_ns ? options_.clock_ns() : 0; }
  void AddStep(const char* what, const PlanRead& read, uint64_t blocks, uint64_t sums,
               int64_t start);
  base::Result<void> ListSide(size_t side);
  std::optional<uint32_t> RegroupTask(uint32_t group, const store::Task& task);

  store::Store& store_;
  const Request& request_;
  const AskOptions& options_;
  store::ReadGuard made_;
  Listing listing_;
  std::vector<LabelMatcher> matchers_;  // by side
  std::map<PlanGroup, uint32_t> task_groups_;
  bool too_many_groups_ = false;
  store::ReadReport report_;
  int64_t start_ns_ = 0;
  About about_;
};

// All answers, one file each or a few.
base::Result<Answer> AskTree(Asking& asking);
base::Result<Answer> AskTop(Asking& asking);
base::Result<Answer> AskSeries(Asking& asking);
base::Result<Answer> AskLabels(Asking& asking);
base::Result<Answer> AskValues(Asking& asking);
base::Result<Answer> AskTypes(Asking& asking);
base::Result<Answer> AskLines(Asking& asking);
base::Result<Answer> AskProfile(Asking& asking);

// The tree of all reads of the plan. cut_nodes 0 = not cut. One that is cut may have more nodes
// than there is memory for; then it is read twice, and a note says what that means.
struct MadeTree {
  flame::StackTree tree;
  uint64_t nodes_all = 0;  // before the cut; at least, where a note says so
};
base::Result<MadeTree> MakeTree(Asking& asking, size_t cut_nodes, bool lines);

// Which functions of a tree a request names; false for the root.
// Errors: InvalidInput for a pattern that is none; as ReadGuard::Check.
base::Result<std::vector<bool>> FindFunctions(const Asking& asking, const flame::StackTree& tree);
// Figures of those functions, by name.
std::vector<TopRow> FunctionRows(const flame::StackTree& tree, const std::vector<bool>& wanted);
// The sums of the tree's value type `value`, and of its counts.
ValueCount ColumnsAt(const flame::StackTree& tree, const std::vector<std::vector<int64_t>>& columns,
                     size_t index, size_t side);

}  // namespace vesta::query
