// Reads that need no names: totals of series, sums over time, and the rows themselves.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "src/base/calendar.h"
#include "src/profile/profile.h"
#include "src/store/disk/answers.h"
#include "src/store/disk/day.h"
#include "src/store/disk/table_consumer.h"
#include "src/store/duck/row_columns.h"
#include "src/store/index/node_source.h"
#include "src/store/index/rollup.h"

namespace vesta::store {

namespace {

using base::kMinuteMs;

constexpr size_t kRowsOfBlock = 32'768;

int64_t MinuteStart(const index::MinuteTotal& total) { return total.minute * kMinuteMs; }

bool Covers(TimeRange outer, int64_t first_unix_ms, int64_t last_unix_ms) {
  return outer.Contains(first_unix_ms) && outer.Contains(last_unix_ms);
}

// Totals of a volume's series under the store's ids.
class SeriesSums {
 public:
  SeriesSums(const VolumeSnapshot& snapshot, TimeRange minutes, ValueTable* sums)
      : snapshot_(snapshot), minutes_(minutes), sums_(sums) {}

  base::Result<void> AddSegment(const index::IndexFile& file) {
    std::vector<index::MinuteTotal> totals;
    for (size_t place = 0; place < file.summaries().size(); ++place) {
      const index::SeriesSummary& summary = file.summaries()[place];
      if (summary.series >= snapshot_.series.size() || summary.type >= snapshot_.types.size()) {
        return base::Error(base::ErrorCode::kCorrupt, "a series that does not exist");
      }
      if (summary.time_max < minutes_.from_unix_ms || summary.time_min >= minutes_.to_unix_ms) {
        continue;
      }
      if (Covers(minutes_, summary.time_min, summary.time_max)) {
        RETURN_IF_ERROR(Add(summary.type, summary.series, summary.value, summary.count));
        continue;
      }
      totals.clear();
      RETURN_IF_ERROR(file.ReadMinutes(place, &totals));
      for (const index::MinuteTotal& total : totals) {
        if (!minutes_.Contains(MinuteStart(total))) continue;
        RETURN_IF_ERROR(Add(summary.type, summary.series, total.value, total.count));
      }
    }
    return {};
  }

  base::Result<void> AddRun(const VolumeSnapshot::Run& run) {
    if (Covers(minutes_, run.range.from_unix_ms, run.range.to_unix_ms - 1)) {
      return Add(run.type, run.series, run.value, run.count);
    }
    const int64_t day_start = DayStartUnixMs(snapshot_.id.day);
    for (const std::span<const OpenRow> rows : run.rows) {
      for (const OpenRow& row : rows) {
        if (!minutes_.Contains(day_start + row.time_in_day_ms)) continue;
        RETURN_IF_ERROR(Add(run.type, run.series, row.value, row.count));
      }
    }
    return {};
  }

 private:
  base::Result<void> Add(uint32_t type, uint32_t series, int64_t value, int64_t count) {
    const uint64_t key = GroupKey(snapshot_.types[type].value(), snapshot_.series[series].value());
    ASSIGN_OR_RETURN(ValueSum* const sum, sums_->At(key));
    sum->Add(value, count);
    return {};
  }

  const VolumeSnapshot& snapshot_;
  const TimeRange minutes_;
  ValueTable* sums_;
};

}  // namespace

base::Result<std::vector<SeriesTotal>> Answers::Series(TimeRange range, const ReadLimits& limits) {
  ReadGuard guard(limits);
  RETURN_IF_ERROR(guard.Check());
  const TimeRange minutes = WidenToMinutes(range);
  ValueTable sums(&guard);
  for (const std::shared_ptr<Volume>& volume : volumes_) {
    RETURN_IF_ERROR(guard.Check());
    const VolumeSnapshot snapshot =
        volume->Snapshot(minutes, [](TypeId, SeriesId) { return true; });
    NoteLostRows(snapshot, report_);
    SeriesSums adder(snapshot, minutes, &sums);
    for (const auto& segment : snapshot.segments) {
      RETURN_IF_ERROR(guard.Check());
      const auto added = segment->index == nullptr
                             ? base::Result<void>(base::Error(base::ErrorCode::kCorrupt, "missing"))
                             : adder.AddSegment(segment->index->file());
      if (added.ok()) continue;
      const bool is_damaged = added.error().code() == base::ErrorCode::kCorrupt;
      if (!is_damaged && added.error().code() != base::ErrorCode::kUnavailable)
        return added.error();
      report_->notes.push_back(DayName(snapshot.id.day) + ": " + segment->entry.index_file +
                               (is_damaged ? " is damaged" : " cannot be read") +
                               "; series of it are left out");
      if (is_damaged)
        damage_.push_back({snapshot.id, segment->entry.index_file, added.error().message()});
    }
    for (const VolumeSnapshot::Run& run : snapshot.runs) RETURN_IF_ERROR(adder.AddRun(run));
  }
  std::vector<SeriesTotal> totals;
  totals.reserve(sums.sums().size());
  for (const ValueSum& sum : sums.sums()) {
    totals.push_back(
        {SeriesId(NumberOfKey(sum.key)), TypeId(GroupOfKey(sum.key)), sum.value, sum.count});
  }
  return totals;
}

namespace {

// The steps of a range that stored times can be in, as numbers that fit beside a group.
class Steps {
 public:
  static base::Result<Steps> Of(const ReadRequest& request, int64_t step_ms) {
    Steps steps;
    steps.from_ = request.range.from_unix_ms;
    steps.step_ = static_cast<uint64_t>(step_ms);
    const int64_t last = std::max(request.range.to_unix_ms, request.range.from_unix_ms);
    steps.count_ = steps.StepOf(last) + 1;
    uint64_t product = 0;
    if (steps.count_ == 0 || __builtin_mul_overflow(steps.count_, request.group_count, &product)) {
      return base::Error(base::ErrorCode::kInvalidInput,
                         "the range has too many steps for so many groups: ask for longer steps");
    }
    return steps;
  }
  uint64_t StepOf(int64_t time_unix_ms) const {
    return (static_cast<uint64_t>(time_unix_ms) - static_cast<uint64_t>(from_)) / step_;
  }
  uint64_t KeyOf(uint32_t group, int64_t time_unix_ms) const {
    return group * count_ + StepOf(time_unix_ms);
  }
  TimelineCell CellOf(const ValueSum& sum) const {
    return {static_cast<uint32_t>(sum.key / count_), sum.key % count_, sum.value, sum.count};
  }
  // Whether no step ends within a minute.
  bool AreWholeMinutes() const { return from_ % kMinuteMs == 0 && step_ % kMinuteMs == 0; }

 private:
  int64_t from_ = 0;
  uint64_t step_ = 1;
  uint64_t count_ = 1;
};

// The same request for one piece of its range.
ReadRequest WithRange(const ReadRequest& request, TimeRange range) {
  ReadRequest part = request;
  part.range = range;
  return part;
}

}  // namespace

base::Result<void> Answers::TimelineRows(const ReadRequest& request, ReadGuard* guard,
                                         const KeyOf& key_of, ValueTable* sums) {
  return ForEachVolume(request, guard, Roll::kNone, [&](VolumeRead& read) {
    TableConsumer consumer(
        guard, sums, [&key_of](const SeenRow& row) { return key_of(row.group, row.time_unix_ms); });
    return read.ForEachRow(duck::kTimeColumn | duck::kValueColumn | duck::kCountColumn, &consumer);
  });
}

base::Result<void> Answers::TimelineMinutes(const ReadRequest& request, ReadGuard* guard,
                                            const KeyOf& key_of, ValueTable* sums) {
  return ForEachVolume(request, guard, Roll::kMinutes, [&](VolumeRead& read) -> base::Result<void> {
    std::vector<index::MinuteTotal> totals;
    const std::vector<VolumeRead::Whole> whole(read.whole().begin(), read.whole().end());
    for (const VolumeRead::Whole& one : whole) {
      RETURN_IF_ERROR(guard->Check());
      totals.clear();
      const auto done = one.segment->index->file().ReadMinutes(one.place, &totals);
      if (!done.ok()) {
        read.ReadRowsOf(one, done.error());
        continue;
      }
      read.CountIndexBytes(totals.size() * sizeof(totals[0]));
      for (const index::MinuteTotal& total : totals) {
        if (!request.range.Contains(MinuteStart(total))) continue;
        ASSIGN_OR_RETURN(ValueSum* const sum, sums->At(key_of(one.group, MinuteStart(total))));
        sum->Add(total.value, total.count);
      }
    }
    TableConsumer consumer(
        guard, sums, [&key_of](const SeenRow& row) { return key_of(row.group, row.time_unix_ms); });
    return read.ForEachRow(duck::kTimeColumn | duck::kValueColumn | duck::kCountColumn, &consumer);
  });
}

base::Result<std::vector<TimelineCell>> Answers::Timeline(const ReadRequest& request,
                                                          int64_t step_ms) {
  RETURN_IF_ERROR(CheckTimeline(request.range, step_ms));
  ASSIGN_OR_RETURN(const Steps steps, Steps::Of(request, step_ms));
  ReadGuard guard(request.limits);
  ValueTable sums(&guard);
  const auto key_of = [&steps](uint32_t group, int64_t time) { return steps.KeyOf(group, time); };
  const TimeRange range = request.range;
  // Whole minutes from roll-ups, what is left at the end from rows.
  const int64_t last_minute = range.to_unix_ms - base::FloorRemainder(range.to_unix_ms, kMinuteMs);
  if (request.regroup != nullptr || !steps.AreWholeMinutes() || last_minute <= range.from_unix_ms) {
    RETURN_IF_ERROR(TimelineRows(request, &guard, key_of, &sums));
  } else {
    const ReadRequest minutes = WithRange(request, {range.from_unix_ms, last_minute});
    RETURN_IF_ERROR(TimelineMinutes(minutes, &guard, key_of, &sums));
    const ReadRequest rest = WithRange(request, {last_minute, range.to_unix_ms});
    if (last_minute < range.to_unix_ms) {
      RETURN_IF_ERROR(TimelineRows(rest, &guard, key_of, &sums));
    }
  }
  std::vector<TimelineCell> cells;
  cells.reserve(sums.sums().size());
  for (const ValueSum& sum : sums.sums()) {
    if (sum.value != 0 || sum.count != 0) cells.push_back(steps.CellOf(sum));
  }
  return cells;
}

namespace {

// Rows of a volume, given to a sink in blocks.
class RowBlocks final : public RowConsumer {
 public:
  RowBlocks(VolumeRead* read, const Sink<RowBlock>& sink) : read_(read), sink_(sink) {}

  base::Result<void> Row(const SeenRow& row) override {
    const auto [task, is_new] =
        task_numbers_.try_emplace(row.task, static_cast<uint32_t>(tasks_.size()));
    if (is_new) {
      ASSIGN_OR_RETURN(Task found, read_->task(row.task));
      tasks_.push_back(std::move(found));
    }
    rows_.push_back({.series = read_->snapshot().series[row.series],
                     .type = read_->snapshot().types[row.type],
                     .group = row.group,
                     .task = task->second,
                     .node = row.stack,
                     .time_unix_ms = row.time_unix_ms,
                     .value = row.value,
                     .count = row.count,
                     .weight = row.weight});
    return {};
  }
  base::Result<void> Keep() override { return Flush(); }
  void Discard() override { Clear(); }
  bool IsFull() const override { return rows_.size() >= kRowsOfBlock; }

 private:
  base::Result<void> Flush() {
    if (rows_.empty()) return {};
    std::vector<uint32_t> nodes;
    nodes.reserve(rows_.size());
    for (const StoredRow& row : rows_) nodes.push_back(row.node);
    std::vector<uint32_t> local(nodes.size());
    const auto cut = index::CutSubTrie(*read_->source(), nodes, local);
    if (!cut.ok()) {
      read_->NoteDamage(kIndexFile, cut.error());
      Clear();
      return {};
    }
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i].node = local[i];
    RETURN_IF_ERROR(sink_({read_->names(), cut->parent, cut->frame, tasks_, rows_}));
    Clear();
    return {};
  }
  void Clear() {
    rows_.clear();
    tasks_.clear();
    task_numbers_.clear();
  }

  VolumeRead* read_;
  const Sink<RowBlock>& sink_;
  std::vector<StoredRow> rows_;
  std::vector<Task> tasks_;
  std::unordered_map<uint32_t, uint32_t> task_numbers_;
};

}  // namespace

base::Result<void> Answers::Rows(const ReadRequest& request, const Sink<RowBlock>& sink) {
  ReadGuard guard(request.limits);
  RETURN_IF_ERROR(guard.Take(kRowsOfBlock * sizeof(StoredRow) * 2));
  return ForEachVolume(request, &guard, Roll::kNone, [&](VolumeRead& read) {
    RowBlocks blocks(&read, sink);
    return read.ForEachRow(duck::kAllColumns, &blocks);
  });
}

}  // namespace vesta::store
