#include "src/store/disk/volume_read.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/store/disk/day.h"
#include "src/store/duck/parquet_rows.h"

namespace vesta::store {

namespace {

constexpr size_t kRowsBetweenChecks = 4096;
// More are not listed for the database: it reads all of them, and the others are left out here.
constexpr size_t kSeriesListMax = 2000;

// Errors that come from the bytes of a file, or from its absence.
bool IsDamage(const base::Error& error) {
  return error.code() == base::ErrorCode::kCorrupt || error.code() == base::ErrorCode::kNotFound;
}

}  // namespace

SeriesGroups::SeriesGroups(std::span<const GroupedSeries> series) {
  uint32_t size = 0;
  for (const GroupedSeries& one : series) size = std::max(size, one.series.value() + 1);
  groups_.assign(size, kNone);
  for (const GroupedSeries& one : series) groups_[one.series.value()] = one.group;
}

VolumeRead::VolumeRead(VolumeSnapshot snapshot, const ReadRequest& request,
                       const SeriesGroups& groups, const duck::DuckDb& database, ReadGuard* guard,
                       ReadReport* report, std::vector<FoundDamage>* damage)
    : snapshot_(std::move(snapshot)),
      request_(request),
      database_(database),
      guard_(guard),
      report_(report),
      damage_(damage) {
  for (const TypeId type : snapshot_.types) {
    wants_type_.push_back(std::find(request.types.begin(), request.types.end(), type) !=
                          request.types.end());
  }
  for (const SeriesId series : snapshot_.series) group_of_.push_back(groups.GroupOf(series));
  if (snapshot_.dictionary != nullptr) {
    source_ = snapshot_.dictionary.get();
    names_ = snapshot_.dictionary.get();
    callables_ = snapshot_.dictionary.get();
  } else if (snapshot_.names != nullptr) {
    reader_ = std::make_unique<index::VolumeReader>(snapshot_.names->file());
    source_ = reader_.get();
    names_ = reader_.get();
    callables_ = reader_.get();
  }
}

std::optional<uint32_t> VolumeRead::GroupOf(uint32_t type, uint32_t series) const {
  if (type >= wants_type_.size() || !wants_type_[type] || series >= group_of_.size()) {
    return std::nullopt;
  }
  return group_of_[series];
}

void VolumeRead::Sort(Roll roll) {
  for (const auto& segment : snapshot_.segments) SortSegment(*segment, roll);
}

void VolumeRead::SortSegment(const Segment& segment, Roll roll) {
  if (segment.index == nullptr) {  // damaged: which series it has, only its rows can tell
    for (uint32_t type = 0; type < wants_type_.size(); ++type) {
      for (uint32_t series = 0; series < group_of_.size(); ++series) {
        if (GroupOf(type, series)) CutOf(&segment).wanted.emplace_back(type, series);
      }
    }
    return;
  }
  const auto summaries = segment.index->file().summaries();
  for (size_t place = 0; place < summaries.size(); ++place) {
    const index::SeriesSummary& summary = summaries[place];
    const auto group = GroupOf(summary.type, summary.series);
    if (!group || summary.time_max < request_.range.from_unix_ms ||
        summary.time_min >= request_.range.to_unix_ms) {
      continue;
    }
    const bool is_inside =
        request_.range.Contains(summary.time_min) && request_.range.Contains(summary.time_max);
    if (request_.regroup == nullptr &&
        (roll == Roll::kMinutes || (roll == Roll::kRange && is_inside))) {
      whole_.push_back({&segment, place, summary.type, summary.series, *group});
    } else {
      CutOf(&segment).wanted.emplace_back(summary.type, summary.series);
    }
  }
}

VolumeRead::Cut& VolumeRead::CutOf(const Segment* segment) {
  for (Cut& cut : cuts_) {
    if (cut.segment == segment) return cut;
  }
  cuts_.push_back({segment, {}});
  return cuts_.back();
}

void VolumeRead::ReadRowsOf(const Whole& whole, const base::Error& error) {
  NoteDamage(whole.segment->entry.index_file, error);
  CutOf(whole.segment).wanted.emplace_back(whole.type, whole.series);
}

void VolumeRead::NoteDamage(const std::string& file, const base::Error& error) {
  for (const FoundDamage& known : *damage_) {
    if (known.volume == snapshot_.id && known.file == file) return;
  }
  damage_->push_back({snapshot_.id, file, error.message()});
  report_->notes.push_back(DayName(snapshot_.id.day) + ": " + file + " is damaged (" +
                           error.message() + ")");
}

base::Result<Task> VolumeRead::task(uint32_t id) const {
  if (reader_ != nullptr) return reader_->task(id);
  if (snapshot_.dictionary == nullptr || id >= snapshot_.dictionary->marks().tasks) {
    return base::Error(base::ErrorCode::kCorrupt, "a row with a task that does not exist");
  }
  return snapshot_.dictionary->task(id);
}

base::Result<bool> VolumeRead::Regrouped(SeenRow* row) {
  if (request_.regroup == nullptr) return true;
  const uint64_t key = GroupKey(row->group, row->task);
  auto known = regrouped_.find(key);
  if (known == regrouped_.end()) {
    ASSIGN_OR_RETURN(const Task task, this->task(row->task));
    known = regrouped_.emplace(key, request_.regroup(row->group, task)).first;
    CHECK(!known->second || *known->second < request_.group_count);
  }
  if (!known->second) return false;
  row->group = *known->second;
  return true;
}

base::Result<void> VolumeRead::ForEachRow(uint32_t columns, RowConsumer* consumer) {
  RETURN_IF_ERROR(VisitOpenRows(consumer));
  bool are_rows_gone = false;
  for (Cut& cut : cuts_) {
    if (cut.segment->rows == nullptr) {
      are_rows_gone = true;
      continue;
    }
    RETURN_IF_ERROR(VisitCut(&cut, columns, consumer));
  }
  if (are_rows_gone) {
    report_->notes.push_back(DayName(snapshot_.id.day) +
                             ": single rows are gone, sums of the whole day are kept; where the "
                             "question cuts into the day or asks for threads, it is left out");
  }
  return {};
}

base::Result<void> VolumeRead::VisitOpenRows(RowConsumer* consumer) {
  const int64_t day_start = DayStartUnixMs(snapshot_.id.day);
  size_t looked_at = 0;
  for (const VolumeSnapshot::Run& run : snapshot_.runs) {
    const auto group = GroupOf(run.type, run.series);
    if (!group) continue;
    for (const std::span<const OpenRow> rows : run.rows) {
      for (const OpenRow& row : rows) {
        if (++looked_at % kRowsBetweenChecks == 0) RETURN_IF_ERROR(guard_->Check());
        SeenRow seen = {run.type,  run.series, *group,
                        row.task,  row.stack,  day_start + row.time_in_day_ms,
                        row.value, row.count,  row.weight};
        if (!request_.range.Contains(seen.time_unix_ms)) continue;
        ASSIGN_OR_RETURN(const bool stays, Regrouped(&seen));
        if (stays) RETURN_IF_ERROR(consumer->Row(seen));
      }
    }
  }
  return consumer->Keep();
}

base::Result<void> VolumeRead::VisitCut(Cut* cut, uint32_t columns, RowConsumer* consumer) {
  std::sort(cut->wanted.begin(), cut->wanted.end());
  duck::ParquetRead read;
  read.path = cut->segment->rows->path();
  std::vector<uint32_t> types;
  std::vector<uint32_t> series;
  for (const auto& [type, one] : cut->wanted) {
    types.push_back(type);
    series.push_back(one);
  }
  for (auto* ids : {&types, &series}) {
    std::sort(ids->begin(), ids->end());
    ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
  }
  read.types = types;
  read.series = series;
  read.every_series = series.size() > kSeriesListMax;
  if (read.every_series) read.series = {};
  read.range = request_.range;
  read.columns = columns | duck::kTypeColumn | duck::kSeriesColumn |
                 (request_.regroup != nullptr ? duck::kTaskColumn : 0u);
  read.limits = request_.limits;

  bool is_ours = false;  // the error that ended it
  std::pair<uint32_t, uint32_t> last = {UINT32_MAX, UINT32_MAX};
  std::optional<uint32_t> group;
  const auto each = [&](const duck::RowColumns& rows) -> base::Result<void> {
    is_ours = true;
    RETURN_IF_ERROR(guard_->Check());
    for (size_t i = 0; i < rows.row_count; ++i) {
      const std::pair key(rows.type[i], rows.series[i]);
      if (key != last) {
        last = key;
        const bool is_wanted = std::binary_search(cut->wanted.begin(), cut->wanted.end(), key);
        group = is_wanted ? GroupOf(key.first, key.second) : std::nullopt;
      }
      if (!group) continue;
      SeenRow row = {.type = key.first, .series = key.second, .group = *group};
      if (!rows.task.empty()) row.task = rows.task[i];
      if (!rows.stack.empty()) row.stack = rows.stack[i];
      if (!rows.time_unix_ms.empty()) row.time_unix_ms = rows.time_unix_ms[i];
      if (!rows.value.empty()) row.value = rows.value[i];
      if (!rows.count.empty()) row.count = rows.count[i];
      if (!rows.weight.empty()) row.weight = rows.weight[i];
      ASSIGN_OR_RETURN(const bool stays, Regrouped(&row));
      if (stays) RETURN_IF_ERROR(consumer->Row(row));
    }
    is_ours = false;
    return {};
  };
  const auto done = duck::ReadRows(database_, read, each);
  if (done.ok()) return consumer->Keep();
  if (is_ours || !IsDamage(done.error())) return done.error();
  consumer->Discard();
  NoteDamage(cut->segment->entry.rows_file, done.error());
  return {};
}

}  // namespace vesta::store
