#include "src/store/disk/volume.h"

#include <algorithm>
#include <utility>

#include "src/base/byte_source.h"
#include "src/store/disk/day.h"
#include "src/store/disk/files.h"

namespace vesta::store {

namespace {

bool Overlaps(const TimeRange& a, const TimeRange& b) {
  return a.from_unix_ms < b.to_unix_ms && b.from_unix_ms < a.to_unix_ms;
}

void WidenTo(const TimeRange& more, TimeRange* range) {
  range->from_unix_ms = std::min(range->from_unix_ms, more.from_unix_ms);
  range->to_unix_ms = std::max(range->to_unix_ms, more.to_unix_ms);
}

}  // namespace

VolumeNames VolumeSnapshot::NamesBy(const index::VolumeReader* reader) const {
  VolumeNames volume = {.id = id, .baked_version = symbols_version};
  if (dictionary != nullptr) {
    const index::DictionaryMarks marks = dictionary->marks();
    volume.image_count = marks.images;
    volume.frame_count = marks.frames;
    volume.names = {dictionary.get(), dictionary.get(), dictionary.get(), marks.functions};
  } else if (reader != nullptr) {
    const index::DictionaryMarks& marks = names->file().marks();
    volume.image_count = marks.images;
    volume.frame_count = marks.frames;
    volume.names = {reader, reader, reader, marks.functions};
  }
  return volume;
}

Volume::Volume(const VolumeWorld& world, VolumeId id)
    : world_(world),
      id_(id),
      folder_(std::make_shared<StoredPath>(world.days_folder + "/" + DayName(id.day) + "/" +
                                           VolumeName(id.number))),
      series_(world.catalog) {
  manifest_.day = id.day;
  manifest_.number = id.number;
}

Volume::~Volume() = default;

std::shared_ptr<const StoredPath> Volume::StoredFile(const std::string& name) const {
  // Holds the folder, so that the folder goes after its files.
  struct File {
    explicit File(std::string path, std::shared_ptr<const StoredPath> in)
        : folder(std::move(in)), file(std::move(path)) {}
    std::shared_ptr<const StoredPath> folder;
    StoredPath file;
  };
  auto file = std::make_shared<File>(PathOf(name), folder_);
  const StoredPath* path = &file->file;
  return {std::move(file), path};
}

bool Volume::is_closed() const {
  const std::shared_lock lock(state_);
  return manifest_.is_closed;
}

Manifest Volume::manifest() const {
  const std::shared_lock lock(state_);
  return manifest_;
}

Book Volume::book() const {
  const std::shared_lock lock(state_);
  Book book = book_;
  // An open volume's manifest says only what its segments lost.
  if (!manifest_.is_closed) book.Add(manifest_.book);
  return book;
}

TimeRange Volume::range() const {
  TimeRange range = {INT64_MAX, INT64_MIN};
  const std::shared_lock lock(state_);
  for (const auto& segment : segments_) WidenTo(segment->entry.range, &range);
  for (const auto& [id, part] : parts_) WidenTo(part->range(), &range);
  return range;
}

uint64_t Volume::rows() const {
  const std::shared_lock lock(state_);
  uint64_t rows = manifest_.rows();
  for (const auto& [id, part] : parts_) rows += part->rows();
  return rows;
}

uint64_t Volume::segment_count() const {
  const std::shared_lock lock(state_);
  return segments_.size();
}

VolumeSnapshot Volume::Snapshot(TimeRange range, const WantsSeries& wants) const {
  VolumeSnapshot snapshot;
  snapshot.id = id_;
  const std::shared_lock lock(state_);
  snapshot.symbols_version = manifest_.symbols_version;
  snapshot.dictionary = dictionary_;
  if (dictionary_ == nullptr && !segments_.empty()) snapshot.names = segments_.front()->index;
  snapshot.series = series_.ids();
  snapshot.types = types_;
  for (const auto& segment : segments_) {
    if (!Overlaps(segment->entry.range, range)) continue;
    snapshot.segments.push_back(segment);
    const ManifestFile* const rows = manifest_.FindFile(segment->entry.rows_file);
    if (rows != nullptr) snapshot.row_files.push_back(*rows);
  }
  snapshot.rows_lost = book_.rows_quarantined;
  if (!manifest_.is_closed) snapshot.rows_lost += manifest_.book.rows_quarantined;
  if (snapshot.rows_lost > 0) snapshot.rows_without_sums = RowsWithoutSums();
  for (const auto& [id, part] : parts_) {
    if (!Overlaps(part->range(), range)) continue;
    snapshot.parts.push_back(part);
    for (const auto& run : part->runs()) {
      if (!Overlaps(run->range, range)) continue;
      if (!wants(types_[run->type], snapshot.series[run->series])) continue;
      snapshot.runs.push_back(
          {run->type, run->series, run->value, run->count, run->range, run->rows.Spans()});
    }
  }
  return snapshot;
}

uint64_t Volume::RowsWithoutSums() const {
  uint64_t rows = 0;
  for (const auto& segment : segments_) {
    if (segment->index == nullptr) continue;
    for (const index::SeriesSummary& summary : segment->index->file().summaries()) {
      rows += summary.rows;
    }
  }
  for (const auto& [id, part] : parts_) rows += part->rows();
  return book_.outcome.rows_kept - std::min(book_.outcome.rows_kept, rows);
}

base::Result<bool> Volume::Counted(const BatchId& id) {
  {
    const std::shared_lock lock(state_);
    if (ledger_) return ledger_->Contains(id.agent, id.boot, id.sequence);
  }
  ASSIGN_OR_RETURN(Ledger ledger, ReadLedger());
  const std::unique_lock lock(state_);
  if (!ledger_) ledger_ = std::move(ledger);
  return ledger_->Contains(id.agent, id.boot, id.sequence);
}

base::Result<Ledger> Volume::ReadLedger() const {
  const std::string path = PathOf(kLedgerFile);
  constexpr size_t kLedgerBytesMax = size_t{256} << 20;
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path, kLedgerBytesMax));
  const auto json = base::ParseJson(text);
  if (!json.ok()) return json.error().Context(path);
  return Ledger::FromJson(*json).Context(path);
}

uint64_t Volume::part_rows(uint32_t part) const {
  const std::shared_lock lock(state_);
  const auto found = parts_.find(part);
  return found == parts_.end() ? 0 : found->second->rows();
}

void Volume::ForgetLedger() {
  const std::unique_lock lock(state_);
  if (manifest_.is_closed) ledger_.reset();
}

base::Result<void> Volume::WriteManifest(const Manifest& manifest) const {
  return WriteFileAtomically(PathOf(kManifestFile), EncodeManifest(manifest));
}

void Volume::RemoveLater() {
  const uint64_t bytes = disk_bytes();
  const std::unique_lock lock(state_);
  folder_->RemoveLater(bytes, &world_.doomed_bytes);
}

uint64_t Volume::disk_bytes() const {
  uint64_t bytes = 0;
  {
    const std::shared_lock lock(state_);
    for (const ManifestFile& file : manifest_.files) bytes += file.bytes;
    if (manifest_.is_closed) return bytes;
  }
  return std::max(bytes, BytesBelow(folder()));
}

}  // namespace vesta::store
