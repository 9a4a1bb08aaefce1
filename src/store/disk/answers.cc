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
// A block of more would need much memory for its nodes.
constexpr size_t kSumsOfBlock = 262'144;
constexpr uint32_t kSumColumns = duck::kStackColumn | duck::kValueColumn | duck::kCountColumn;

// Errors of a file that are a note in the answer; others end it.
bool IsUnreadable(const base::Error& error) {
  return error.code() == base::ErrorCode::kCorrupt || error.code() == base::ErrorCode::kUnavailable;
}

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
    NoteLostRows(snapshot, report_);
    if (snapshot.segments.empty() && snapshot.runs.empty()) continue;
    VolumeRead read(std::move(snapshot), request, groups, database_, guard, report_, &damage_);
    if (read.source() == nullptr) {
      report_->notes.push_back(DayName(volume->id().day) +
                               ": the index is damaged; the day is left out until it is made anew");
      continue;
    }
    read.Repair(&repairs_, &view_);
    read.Sort(roll);
    auto visited = visit(read);
    read.NoteLostNames();
    RETURN_IF_ERROR(std::move(visited));
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
    read.CountIndexBytes(totals.size() * sizeof(totals[0]));
    for (const index::StackTotal& total : totals) {
      ASSIGN_OR_RETURN(ValueSum* const sum, sums->At(GroupKey(whole.group, total.node)));
      sum->Add(total.value, total.count);
    }
  }
  return RowStacks(read, guard, sums);
}

// The same of the rows that no roll-up stands for.
base::Result<void> Answers::RowStacks(VolumeRead& read, ReadGuard* guard, ValueTable* sums) {
  TableConsumer consumer(guard, sums,
                         [](const SeenRow& row) { return GroupKey(row.group, row.stack); });
  return read.ForEachRow(kSumColumns, &consumer);
}

base::Result<void> Answers::SendStacks(VolumeRead& read, std::span<const ValueSum> sums,
                                       ReadGuard* guard, const Sink<StackBlock>& sink) {
  if (sums.empty()) return {};
  std::vector<uint32_t> nodes;
  nodes.reserve(sums.size());
  for (const ValueSum& sum : sums) nodes.push_back(NumberOfKey(sum.key));
  std::vector<uint32_t> local(nodes.size());
  const auto cut = index::CutSubTrie(*read.source(), nodes, local);
  if (!cut.ok()) {
    read.NoteDamage(kIndexFile, cut.error());
    return {};
  }
  read.CountIndexBytes(cut->node.size() * sizeof(index::TrieNode));
  const uint64_t bytes = cut->node.size() * 12 + nodes.size() * sizeof(StackSum);
  RETURN_IF_ERROR(guard->Take(bytes));
  std::vector<StackSum> block;
  block.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    block.push_back({local[i], GroupOfKey(sums[i].key), sums[i].value, sums[i].count});
  RETURN_IF_ERROR(sink({read.names(), cut->parent, cut->frame, block}));
  guard->GiveBack(bytes);
  return {};
}

base::Result<void> Answers::Stacks(const ReadRequest& request, const Sink<StackBlock>& sink) {
  ReadGuard guard(request.limits);
  return ForEachVolume(request, &guard, Roll::kRange, [&](VolumeRead& read) -> base::Result<void> {
    ValueTable sums(&guard);
    RETURN_IF_ERROR(VolumeStacks(read, &guard, &sums));
    const std::span<const ValueSum> all = sums.sums();
    if (all.size() <= kSumsOfBlock) return SendStacks(read, all, &guard, sink);
    // Neighbours share most of what calls them.
    RETURN_IF_ERROR(guard.Take(all.size_bytes()));
    std::vector<ValueSum> sorted(all.begin(), all.end());
    std::sort(sorted.begin(), sorted.end(), [](const ValueSum& a, const ValueSum& b) {
      return NumberOfKey(a.key) < NumberOfKey(b.key);
    });
    for (size_t at = 0; at < sorted.size(); at += kSumsOfBlock) {
      const size_t count = std::min(kSumsOfBlock, sorted.size() - at);
      RETURN_IF_ERROR(SendStacks(read, std::span(sorted).subspan(at, count), &guard, sink));
    }
    guard.GiveBack(all.size_bytes());
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
      read.CountIndexBytes(totals.size() * sizeof(totals[0]));
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
      read.CountIndexBytes(totals.size() * sizeof(totals[0]));
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
    if (!read.is_repaired()) RETURN_IF_ERROR(AddWholeFunctions(read, guard, &sums));
    ValueTable rows(&guard);
    RETURN_IF_ERROR(read.is_repaired() ? VolumeStacks(read, &guard, &rows)
                                       : RowStacks(read, &guard, &rows));
    if (const auto added = AddRowFunctions(read, rows, &sums); !added.ok()) {
      if (!IsUnreadable(added.error())) return added.error();
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
