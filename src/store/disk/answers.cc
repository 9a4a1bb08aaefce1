#include "src/store/disk/answers.h"

#include <algorithm>
#include <utility>

#include "src/profile/profile.h"
#include "src/store/disk/day.h"
#include "src/store/disk/table_consumer.h"
#include "src/store/duck/row_columns.h"
#include "src/store/index/node_source.h"
#include "src/store/index/rollup.h"

namespace vesta::store {

namespace {

using profile::AddSaturating;
constexpr uint32_t kSumColumns = duck::kStackColumn | duck::kValueColumn | duck::kCountColumn;

}  // namespace

base::Result<void> Answers::ForEachVolume(const ReadRequest& request, ReadGuard* guard, Roll roll,
                                          const OneVolume& visit) {
  RETURN_IF_ERROR(guard->Check());
  const SeriesGroups groups(request.series);
  const WantsSeries wants = [&](TypeId type, SeriesId series) {
    return groups.GroupOf(series).has_value() &&
           std::find(request.types.begin(), request.types.end(), type) != request.types.end();
  };
  for (const std::shared_ptr<Volume>& volume : volumes_) {
    RETURN_IF_ERROR(guard->Check());
    VolumeSnapshot snapshot = volume->Snapshot(request.range, wants);
    if (snapshot.segments.empty() && snapshot.runs.empty()) continue;
    VolumeRead read(std::move(snapshot), request, groups, database_, guard, report_, &damage_);
    if (read.source() == nullptr) {
      report_->notes.push_back(DayName(volume->id().day) +
                               ": the index is damaged; the day is left out until it is made anew");
      continue;
    }
    read.Sort(roll);
    RETURN_IF_ERROR(visit(read));
  }
  return guard->Check();
}

// Sums of all that is asked for by (group, node).
base::Result<void> Answers::VolumeStacks(VolumeRead& read, ReadGuard* guard, ValueTable* sums) {
  std::vector<index::StackTotal> totals;
  for (const VolumeRead::Whole& whole : read.whole()) {
    RETURN_IF_ERROR(guard->Check());
    totals.clear();
    const auto done = whole.segment->index->file().ReadStacks(whole.place, &totals);
    if (!done.ok()) {
      read.ReadRowsOf(whole, done.error());
      continue;
    }
    for (const index::StackTotal& total : totals) {
      ASSIGN_OR_RETURN(ValueSum* const sum, sums->At(GroupKey(whole.group, total.node)));
      sum->Add(total.value, total.count);
    }
  }
  TableConsumer consumer(guard, sums,
                         [](const SeenRow& row) { return GroupKey(row.group, row.stack); });
  return read.ForEachRow(kSumColumns, &consumer);
}

base::Result<void> Answers::Stacks(const ReadRequest& request, const Sink<StackBlock>& sink) {
  ReadGuard guard(request.limits);
  return ForEachVolume(request, &guard, Roll::kRange, [&](VolumeRead& read) -> base::Result<void> {
    ValueTable sums(&guard);
    RETURN_IF_ERROR(VolumeStacks(read, &guard, &sums));
    if (sums.sums().empty()) return {};
    std::vector<uint32_t> nodes;
    nodes.reserve(sums.sums().size());
    for (const ValueSum& sum : sums.sums()) nodes.push_back(NumberOfKey(sum.key));
    std::vector<uint32_t> local(nodes.size());
    const auto cut = index::CutSubTrie(*read.source(), nodes, local);
    if (!cut.ok()) {
      read.NoteDamage(kIndexFile, cut.error());
      return {};
    }
    const uint64_t bytes = cut->node.size() * 12 + nodes.size() * sizeof(StackSum);
    RETURN_IF_ERROR(guard.Take(bytes));
    std::vector<StackSum> block;
    block.reserve(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const ValueSum& sum = sums.sums()[i];
      block.push_back({local[i], GroupOfKey(sum.key), sum.value, sum.count});
    }
    RETURN_IF_ERROR(sink({read.names(), cut->parent, cut->frame, block}));
    guard.GiveBack(bytes);
    return {};
  });
}

namespace {

struct FunctionTableSum {
  uint64_t key = 0;
  int64_t self = 0;
  int64_t total = 0;
  int64_t self_count = 0;
  int64_t total_count = 0;
};
using FunctionTable = SumTable<FunctionTableSum>;

base::Result<void> AddFunctions(std::span<const index::FunctionTotal> totals, uint32_t group,
                                FunctionTable* sums) {
  for (const index::FunctionTotal& total : totals) {
    ASSIGN_OR_RETURN(FunctionTableSum* const sum, sums->At(GroupKey(group, total.callable)));
    sum->self = AddSaturating(sum->self, total.self);
    sum->total = AddSaturating(sum->total, total.total);
    sum->self_count = AddSaturating(sum->self_count, total.self_count);
    sum->total_count = AddSaturating(sum->total_count, total.total_count);
  }
  return {};
}

// Wholes of one type and segment: [first, end) of read.whole().
struct WholeRun {
  size_t first = 0;
  size_t end = 0;
  bool is_fleet = false;  // all series that the segment has of the type, in one group
};

// Shape: wholes come segment by segment, in the order of (type, series).
std::vector<WholeRun> WholeRuns(std::span<const VolumeRead::Whole> whole) {
  std::vector<WholeRun> runs;
  for (size_t at = 0; at < whole.size();) {
    WholeRun run = {at, at, true};
    while (run.end < whole.size() && whole[run.end].segment == whole[at].segment &&
           whole[run.end].type == whole[at].type) {
      run.is_fleet = run.is_fleet && whole[run.end].group == whole[at].group;
      ++run.end;
    }
    const auto summaries = whole[at].segment->index->file().summaries();
    const auto of_type = static_cast<size_t>(
        std::count_if(summaries.begin(), summaries.end(),
                      [&](const index::SeriesSummary& s) { return s.type == whole[at].type; }));
    run.is_fleet = run.is_fleet && run.end - run.first == of_type && of_type > 1;
    runs.push_back(run);
    at = run.end;
  }
  return runs;
}

// Functions of rows that were summed by (group, stack).
base::Result<void> AddRowFunctions(const VolumeRead& read, const ValueTable& rows,
                                   FunctionTable* sums) {
  std::vector<ValueSum> sorted = rows.sums();
  std::sort(sorted.begin(), sorted.end(),
            [](const ValueSum& a, const ValueSum& b) { return a.key < b.key; });
  index::FunctionSummer summer(read.source());
  std::vector<index::StackTotal> stacks;
  std::vector<index::FunctionTotal> functions;
  for (size_t at = 0; at < sorted.size();) {
    const uint32_t group = GroupOfKey(sorted[at].key);
    stacks.clear();
    for (; at < sorted.size() && GroupOfKey(sorted[at].key) == group; ++at) {
      stacks.push_back({NumberOfKey(sorted[at].key), sorted[at].value, sorted[at].count});
    }
    functions.clear();
    RETURN_IF_ERROR(summer.Sum(stacks, &functions));
    RETURN_IF_ERROR(AddFunctions(functions, group, sums));
  }
  return {};
}

base::Result<void> AddWholeFunctions(VolumeRead& read, const ReadGuard& guard,
                                     FunctionTable* sums) {
  const std::vector<VolumeRead::Whole> whole(read.whole().begin(), read.whole().end());
  std::vector<index::FunctionTotal> totals;
  for (const WholeRun& run : WholeRuns(whole)) {
    const VolumeRead::Whole& first = whole[run.first];
    const index::IndexFile& file = first.segment->index->file();
    totals.clear();
    if (run.is_fleet && file.ReadFleetFunctions(first.type, &totals).ok()) {
      RETURN_IF_ERROR(guard.Check());
      RETURN_IF_ERROR(AddFunctions(totals, first.group, sums));
      continue;
    }
    for (size_t at = run.first; at < run.end; ++at) {
      RETURN_IF_ERROR(guard.Check());
      totals.clear();
      const auto done = file.ReadFunctions(whole[at].place, &totals);
      if (!done.ok()) {
        read.ReadRowsOf(whole[at], done.error());
        continue;
      }
      RETURN_IF_ERROR(AddFunctions(totals, whole[at].group, sums));
    }
  }
  return {};
}

}  // namespace

base::Result<void> Answers::Functions(const ReadRequest& request, const Sink<FunctionBlock>& sink) {
  ReadGuard guard(request.limits);
  return ForEachVolume(request, &guard, Roll::kRange, [&](VolumeRead& read) -> base::Result<void> {
    FunctionTable sums(&guard);
    RETURN_IF_ERROR(AddWholeFunctions(read, guard, &sums));
    ValueTable rows(&guard);
    TableConsumer consumer(&guard, &rows,
                           [](const SeenRow& row) { return GroupKey(row.group, row.stack); });
    RETURN_IF_ERROR(read.ForEachRow(kSumColumns, &consumer));
    if (const auto added = AddRowFunctions(read, rows, &sums); !added.ok()) {
      if (added.error().code() != base::ErrorCode::kCorrupt) return added.error();
      read.NoteDamage(kIndexFile, added.error());
    }
    if (sums.sums().empty()) return {};
    std::vector<FunctionSum> block;
    block.reserve(sums.sums().size());
    for (const FunctionTableSum& sum : sums.sums()) {
      block.push_back({NumberOfKey(sum.key), GroupOfKey(sum.key), sum.self, sum.total,
                       sum.self_count, sum.total_count});
    }
    return sink({read.callables(), block});
  });
}

}  // namespace vesta::store
