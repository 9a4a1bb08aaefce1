#include "src/store/disk/volume_read.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/store/disk/day.h"
#include "src/store/disk/files.h"
#include "src/store/duck/parquet_rows.h"

namespace vesta::store {

namespace {

constexpr size_t kRowsBetweenChecks = 4096;
// More are not listed for the database: it reads all of them, and the others are left out here.
constexpr size_t kSeriesListMax = 2000;

// The folder and the name of a path.
std::pair<std::string, std::string> SplitPath(const std::string& path) {
  const size_t slash = path.rfind('/');
  return {path.substr(0, slash), path.substr(slash + 1)};
}

void AddNoteOnce(const std::string& note, ReadReport* report) {
  std::vector<std::string>& notes = report->notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

}  // namespace

void NoteLostRows(const VolumeSnapshot& snapshot, ReadReport* report) {
  if (snapshot.rows_without_sums == 0) return;
  AddNoteOnce(DayName(snapshot.id.day) + ": " + std::to_string(snapshot.rows_without_sums) +
                  " rows were lost with damaged files; no answer has them",
              report);
}

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

void VolumeRead::Repair(SymbolRepairs* repairs, symbols::SymbolView* view) {
  if (source_ == nullptr) return;
  repaired_ = repairs->RepairsOf(snapshot_.NamesBy(reader_.get()), view);
  if (repaired_ == nullptr) return;
  source_ = repaired_.get();
  names_ = repaired_.get();
  callables_ = repaired_.get();
}

std::optional<uint32_t> VolumeRead::GroupOf(uint32_t type, uint32_t series) const {
  if (type >= wants_type_.size() || !wants_type_[type] || series >= group_of_.size()) {
    return std::nullopt;
  }
  return group_of_[series];
}

void VolumeRead::Sort(Roll roll) {
  for (const auto& segment : snapshot_.segments) {
    const size_t before = whole_.size();
    SortSegment(*segment, roll);
    if (whole_.size() != before) ++report_->files;
  }
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
  if (!IsDamage(error)) {
    AddNote(file + " cannot be read (" + error.message() + ")");
    return;
  }
  for (const FoundDamage& known : *damage_) {
    if (known.volume == snapshot_.id && known.file == file) return;
  }
  damage_->push_back({snapshot_.id, file, error.message()});
  AddNote(file + " is damaged (" + error.message() + ")");
}

void VolumeRead::AddNote(const std::string& note) {
  AddNoteOnce(DayName(snapshot_.id.day) + ": " + note, report_);
}

void VolumeRead::NoteLostNames() {
  if (reader_ != nullptr && reader_->damage().has_value()) {
    NoteDamage(kIndexFile, *reader_->damage());
  }
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
  const bool is_closed = snapshot_.names != nullptr;
  const uint64_t rows_lost = snapshot_.rows_lost - snapshot_.rows_without_sums;
  if (is_closed && !are_rows_gone && !cuts_.empty() && rows_lost > 0) {
    AddNote(std::to_string(rows_lost) +
            " single rows were lost with damaged files, sums of the whole day have them; where the "
            "question cuts into the day or asks for threads, they are left out");
  }
  if (are_rows_gone) {
    AddNote(
        "single rows are gone, sums of the whole day are kept; where the question cuts into the "
        "day or asks for threads, it is left out");
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
      report_->rows += rows.size();
      report_->row_bytes += rows.size_bytes();
      for (const OpenRow& row : rows) {
        if (++looked_at % kRowsBetweenChecks == 0) RETURN_IF_ERROR(guard_->Check());
        SeenRow seen = {run.type,  run.series, *group,
                        row.task,  row.stack,  day_start + row.time_in_day_ms,
                        row.value, row.count,  row.weight};
        if (!request_.range.Contains(seen.time_unix_ms)) continue;
        ASSIGN_OR_RETURN(const bool stays, Regrouped(&seen));
        if (stays) RETURN_IF_ERROR(consumer->Row(seen));
        if (consumer->IsFull()) RETURN_IF_ERROR(consumer->Keep());
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

  bool is_ours = false;      // the error that ended it
  bool is_verified = false;  // the file is what was written
  std::pair<uint32_t, uint32_t> last = {UINT32_MAX, UINT32_MAX};
  std::optional<uint32_t> group;
  const auto each = [&](const duck::RowColumns& rows) -> base::Result<void> {
    is_ours = true;
    RETURN_IF_ERROR(guard_->Check());
    report_->rows += rows.row_count;
    report_->row_bytes += rows.type.size_bytes() + rows.series.size_bytes() +
                          rows.task.size_bytes() + rows.stack.size_bytes() +
                          rows.time_unix_ms.size_bytes() + rows.value.size_bytes() +
                          rows.count.size_bytes() + rows.weight.size_bytes();
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
    if (consumer->IsFull() && !is_verified) {
      is_ours = false;
      RETURN_IF_ERROR(VerifyRows(*cut->segment));
      is_ours = is_verified = true;
    }
    if (consumer->IsFull()) RETURN_IF_ERROR(consumer->Keep());
    is_ours = false;
    return {};
  };
  ++report_->files;
  const auto done = duck::ReadRows(database_, read, each);
  if (done.ok()) return consumer->Keep();
  if (is_ours || !IsDamage(done.error())) return done.error();
  consumer->Discard();
  NoteDamage(cut->segment->entry.rows_file, done.error());
  return {};
}

base::Result<void> VolumeRead::VerifyRows(const Segment& segment) const {
  const auto& files = snapshot_.row_files;
  const auto written = std::find_if(files.begin(), files.end(), [&](const ManifestFile& file) {
    return file.name == segment.entry.rows_file;
  });
  if (written == files.end()) return {};
  const auto [folder, name] = SplitPath(segment.rows->path());
  const auto found = DescribeFile(folder, name, [this] { return !guard_->Check().ok(); });
  RETURN_IF_ERROR(guard_->Check());
  if (!found.ok()) return found.error();
  if (*found == *written) return {};
  return base::Error(base::ErrorCode::kCorrupt, "its checksum is not that of the manifest");
}

}  // namespace vesta::store
