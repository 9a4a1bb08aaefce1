// A part's rows become files: sorted Parquet and their roll-up.
#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <utility>

#include "src/store/disk/files.h"
#include "src/store/disk/volume.h"
#include "src/store/duck/parquet_rows.h"
#include "src/store/index/index_writer.h"
#include "src/store/index/rollup.h"

namespace vesta::store {

namespace {

std::string SegmentName(uint32_t part, std::string_view suffix) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "seg-%04u", part);
  return text.data() + std::string(suffix);
}

std::vector<const OpenPart::Run*> SortedRuns(const OpenPart& part) {
  std::vector<const OpenPart::Run*> runs;
  for (const auto& run : part.runs()) runs.push_back(run.get());
  std::sort(runs.begin(), runs.end(), [](const OpenPart::Run* a, const OpenPart::Run* b) {
    return std::pair(a->type, a->series) < std::pair(b->type, b->series);
  });
  return runs;
}

// The rows of a part in the order of sealed files, some thousands at a time.
class SortedRows {
 public:
  explicit SortedRows(const OpenPart& part) : part_(part), runs_(SortedRuns(part)) {}

  duck::RowColumns Next() {
    columns_ = {};
    while (next_run_ < runs_.size() && columns_.size() < kRowsAtOnce) AddRun(*runs_[next_run_++]);
    return columns_.Columns();
  }

 private:
  static constexpr size_t kRowsAtOnce = 16'384;

  void AddRun(const OpenPart::Run& run) {
    sorted_.clear();
    for (const std::span<const OpenRow> rows : run.rows.Spans()) {
      sorted_.insert(sorted_.end(), rows.begin(), rows.end());
    }
    std::sort(sorted_.begin(), sorted_.end(), [](const OpenRow& a, const OpenRow& b) {
      return std::tie(a.task, a.time_in_day_ms, a.stack) <
             std::tie(b.task, b.time_in_day_ms, b.stack);
    });
    for (const OpenRow& row : sorted_) {
      columns_.type.push_back(run.type);
      columns_.series.push_back(run.series);
      columns_.task.push_back(row.task);
      columns_.stack.push_back(row.stack);
      columns_.time_unix_ms.push_back(part_.day_start_unix_ms() + row.time_in_day_ms);
      columns_.value.push_back(row.value);
      columns_.count.push_back(row.count);
      columns_.weight.push_back(row.weight);
    }
  }

  const OpenPart& part_;
  const std::vector<const OpenPart::Run*> runs_;
  size_t next_run_ = 0;
  std::vector<OpenRow> sorted_;
  EncodedRows columns_;
};

// A few thousand rows of a run as the columns that a roll-up is made of.
struct RollupColumns {
  std::vector<uint32_t> type, series, stack;
  std::vector<int64_t> time, value, count;

  void Fill(const OpenPart::Run& run, std::span<const OpenRow> rows, int64_t day_start_unix_ms) {
    type.assign(rows.size(), run.type);
    series.assign(rows.size(), run.series);
    stack.clear();
    time.clear();
    value.clear();
    count.clear();
    for (const OpenRow& row : rows) {
      stack.push_back(row.stack);
      time.push_back(day_start_unix_ms + row.time_in_day_ms);
      value.push_back(row.value);
      count.push_back(row.count);
    }
  }
  index::RollupRows View() const { return {type, series, stack, time, value, count}; }
};

}  // namespace

std::vector<uint32_t> Volume::PartsToSeal(int64_t now_unix_ms, uint64_t rows_min) const {
  const std::shared_lock lock(state_);
  std::vector<uint32_t> due;
  for (const auto& [id, part] : parts_) {
    const int64_t hour_end = (part->range().from_unix_ms / world_.part_ms + 1) * world_.part_ms;
    if (hour_end <= now_unix_ms || part->rows() >= rows_min) due.push_back(id);
  }
  return due;
}

base::Result<std::vector<std::byte>> Volume::PartIndex(const OpenPart& part) const {
  index::IndexWriter writer;
  index::RollupBuilder builder(dictionary_.get(), [&writer](const index::SeriesRollup& rollup) {
    return writer.AddRollup(rollup);
  });
  RollupColumns columns;
  for (const OpenPart::Run* run : SortedRuns(part)) {
    for (std::span<const OpenRow> rows : run->rows.Spans()) {
      columns.Fill(*run, rows, part.day_start_unix_ms());
      RETURN_IF_ERROR(builder.Add(columns.View()));
    }
  }
  RETURN_IF_ERROR(builder.Finish());
  return writer.Finish();
}

base::Result<ManifestSegment> Volume::WriteSegment(const OpenPart& part,
                                                   std::vector<ManifestFile>* files) {
  ManifestSegment segment = {.part = part.id(),
                             .rows_file = SegmentName(part.id(), ".parquet"),
                             .index_file = SegmentName(part.id(), ".idx"),
                             .rows = part.rows(),
                             .range = part.range()};
  world_.step("seal rows");
  const std::string rows_aside = PathOf(segment.rows_file) + std::string(kAsideSuffix);
  SortedRows rows(part);
  ASSIGN_OR_RETURN(
      const uint64_t written,
      duck::SealRows(
          *world_.database, [&rows]() -> base::Result<duck::RowColumns> { return rows.Next(); },
          rows_aside));
  if (written != part.rows()) {
    return base::Error(base::ErrorCode::kInternal, rows_aside + ": " + std::to_string(written) +
                                                       " rows instead of " +
                                                       std::to_string(part.rows()));
  }
  RETURN_IF_ERROR(RenameDurably(rows_aside, PathOf(segment.rows_file)));
  world_.step("seal index");
  ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, PartIndex(part));
  RETURN_IF_ERROR(WriteFileAtomically(
      PathOf(segment.index_file),
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  for (const std::string* name : {&segment.rows_file, &segment.index_file}) {
    ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder(), *name));
    files->push_back(std::move(file));
  }
  return segment;
}

// What sealed rows need of the hot file, their names and which batches they came from, must not
// depend on its log, a file that others may lose: it goes before the manifest is written.
base::Result<void> Volume::MoveLog() {
  RETURN_IF_ERROR(NeedHotFile());
  auto moved = hot_->file->Checkpoint();
  if (!hot_->file->is_usable()) hot_->file.reset();
  return moved;
}

base::Result<void> Volume::SealPart(uint32_t part) {
  std::shared_ptr<OpenPart> open;
  index::DictionaryMarks marks;
  {
    // From now on rows of that hour go to another part.
    const std::lock_guard commit_lock(commit_);
    for (auto at = hot_->part_of_hour.begin(); at != hot_->part_of_hour.end();) {
      at = at->second == part ? hot_->part_of_hour.erase(at) : std::next(at);
    }
    const std::shared_lock lock(state_);
    const auto found = parts_.find(part);
    if (found == parts_.end()) return {};
    open = found->second;
    marks = hot_->durable;  // at least what its rows were committed with
  }
  Manifest manifest = this->manifest();
  ASSIGN_OR_RETURN(ManifestSegment entry, WriteSegment(*open, &manifest.files));
  entry.marks = marks;
  world_.step("seal names");
  RETURN_IF_ERROR(WriteNames(part, marks, &manifest));
  auto segment = std::make_shared<Segment>();
  segment->entry = entry;
  segment->rows = StoredFile(entry.rows_file);
  ASSIGN_OR_RETURN(segment->index, MappedIndex::Open(StoredFile(entry.index_file), world_.cache));
  manifest.segments.push_back(std::move(entry));
  world_.step("seal log");
  {
    const std::lock_guard commit_lock(commit_);
    RETURN_IF_ERROR(MoveLog());
  }
  world_.step("seal manifest");
  RETURN_IF_ERROR(WriteManifest(manifest));
  {
    const std::unique_lock lock(state_);
    manifest_ = std::move(manifest);
    segments_.push_back(std::move(segment));
    open_rows_ -= open->rows();
    parts_.erase(part);
  }
  world_.step("seal drop");
  const std::lock_guard commit_lock(commit_);
  if (hot_->file == nullptr) return {};  // its next opening drops the part
  auto dropped = hot_->file->DropPart(part);
  if (!dropped.ok()) hot_->file.reset();
  return dropped;
}

}  // namespace vesta::store
