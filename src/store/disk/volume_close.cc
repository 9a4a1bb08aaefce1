// An open volume is closed: its segments become one, its dictionary goes along; and several closed
// volumes of a day become one.
#include <algorithm>
#include <utility>

#include "src/base/json.h"
#include "src/store/disk/dictionary_files.h"
#include "src/store/disk/files.h"
#include "src/store/disk/volume.h"
#include "src/store/duck/parquet_rows.h"
#include "src/store/index/index_writer.h"
#include "src/store/index/rollup.h"

namespace vesta::store {

namespace {

// The roll-ups of several index files as one, in order.
// Shape: all have the same numbers, or maps say what the numbers of each become.
class RollupMerge {
 public:
  void Add(const index::IndexFile& file, const index::IdMaps* maps) {
    for (size_t place = 0; place < file.summaries().size(); ++place) {
      const index::SeriesSummary& summary = file.summaries()[place];
      inputs_.push_back({maps == nullptr ? summary.type : maps->types[summary.type],
                         maps == nullptr ? summary.series : maps->series[summary.series], &file,
                         maps, place});
    }
  }
  base::Result<void> WriteTo(index::IndexWriter* writer) {
    std::stable_sort(inputs_.begin(), inputs_.end(), [](const Input& a, const Input& b) {
      return std::pair(a.type, a.series) < std::pair(b.type, b.series);
    });
    for (size_t at = 0; at < inputs_.size();) {
      ASSIGN_OR_RETURN(index::SeriesRollup rollup, Read(inputs_[at]));
      const Input& first = inputs_[at];
      for (++at; at < inputs_.size() && inputs_[at].type == first.type &&
                 inputs_[at].series == first.series;
           ++at) {
        ASSIGN_OR_RETURN(const index::SeriesRollup more, Read(inputs_[at]));
        index::AddRollup(more, &rollup);
      }
      RETURN_IF_ERROR(writer->AddRollup(rollup));
    }
    return {};
  }

 private:
  struct Input {
    uint32_t type;
    uint32_t series;
    const index::IndexFile* file;
    const index::IdMaps* maps;
    size_t place;
  };
  static base::Result<index::SeriesRollup> Read(const Input& input) {
    ASSIGN_OR_RETURN(index::SeriesRollup rollup, input.file->ReadRollup(input.place));
    if (input.maps != nullptr) index::RemapRollup(*input.maps, &rollup);
    return rollup;
  }
  std::vector<Input> inputs_;
};

}  // namespace

// What a closed volume is made of, whether one was open or several are merged.
struct Volume::ClosedFiles {
  const index::Dictionary* dictionary = nullptr;
  RollupMerge rollups;
  std::vector<duck::CompactInput> rows;  // none = raw rows are gone
  uint64_t row_count = 0;
  TimeRange range = {INT64_MAX, INT64_MIN};
  const Ledger* ledger = nullptr;
};

base::Result<Manifest> Volume::WriteClosedFiles(ClosedFiles* from) {
  std::vector<std::string> names;
  ManifestSegment segment = {.index_file = kIndexFile,
                             .rows = from->row_count,
                             .range = from->range,
                             .marks = from->dictionary->marks()};
  if (!from->rows.empty()) {
    world_.step("close rows");
    segment.rows_file = kRowsFile;
    names.emplace_back(kRowsFile);
    ASSIGN_OR_RETURN(const uint64_t written,
                     duck::CompactRows(*world_.database, from->rows,
                                       PathOf(kRowsFile) + std::string(kAsideSuffix), world_.stop));
    if (written != from->row_count) {
      return base::Error(base::ErrorCode::kCorrupt, folder() + ": " + std::to_string(written) +
                                                        " rows instead of " +
                                                        std::to_string(from->row_count));
    }
  }
  world_.step("close dictionary");
  ASSIGN_OR_RETURN(const auto tables, WriteDictionaryFiles(*world_.database, *from->dictionary,
                                                           folder(), kAsideSuffix));
  names.insert(names.end(), tables.begin(), tables.end());
  for (const std::string& name : names) {
    RETURN_IF_ERROR(RenameDurably(PathOf(name) + std::string(kAsideSuffix), PathOf(name)));
  }
  world_.step("close index");
  index::IndexWriter writer;
  RETURN_IF_ERROR(from->rollups.WriteTo(&writer));
  writer.AddDictionary(*from->dictionary);
  const std::vector<std::byte> bytes = writer.Finish();
  RETURN_IF_ERROR(WriteFileAtomically(
      PathOf(kIndexFile),
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  base::JsonWriter json;
  from->ledger->WriteJson(json);
  RETURN_IF_ERROR(WriteFileAtomically(PathOf(kLedgerFile), json.Take() + "\n"));
  names.emplace_back(kIndexFile);
  names.emplace_back(kLedgerFile);

  Manifest manifest = {.day = id_.day, .number = id_.number, .is_closed = true};
  manifest.segments.push_back(std::move(segment));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder(), name));
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

base::Result<void> Volume::AdoptClosed(Manifest manifest) {
  auto segment = std::make_shared<Segment>();
  segment->entry = manifest.segments.front();
  if (!segment->entry.rows_file.empty()) segment->rows = StoredFile(segment->entry.rows_file);
  ASSIGN_OR_RETURN(segment->index, MappedIndex::Open(StoredFile(kIndexFile), world_.cache));
  world_.step("close manifest");
  RETURN_IF_ERROR(WriteManifest(manifest));
  const std::unique_lock lock(state_);
  for (const auto& old : segments_) {
    if (old->rows != nullptr) old->rows->RemoveLater();
    if (old->index != nullptr) old->index->stored().RemoveLater();
  }
  book_ = manifest.book;
  manifest_ = std::move(manifest);
  segments_ = {std::move(segment)};
  dictionary_ = nullptr;
  dictionary_bytes_ = 0;
  ledger_.reset();
  return {};
}

base::Result<void> Volume::Close() {
  for (const uint32_t part : PartsToSeal(INT64_MAX, 0)) RETURN_IF_ERROR(SealPart(part));
  ClosedFiles files;
  Manifest manifest;
  std::vector<std::shared_ptr<const Segment>> segments;
  {
    const std::shared_lock lock(state_);
    segments = segments_;
    files.ledger = &*ledger_;  // nothing is appended any more
  }
  files.dictionary = hot_->dictionary.get();
  for (const auto& segment : segments) {
    if (segment->index != nullptr) files.rollups.Add(segment->index->file(), nullptr);
    if (segment->rows != nullptr) {
      duck::CompactInput input;
      input.path = segment->rows->path();
      files.rows.push_back(input);
      files.row_count += segment->entry.rows;
    }
    files.range.from_unix_ms =
        std::min(files.range.from_unix_ms, segment->entry.range.from_unix_ms);
    files.range.to_unix_ms = std::max(files.range.to_unix_ms, segment->entry.range.to_unix_ms);
  }
  ASSIGN_OR_RETURN(manifest, WriteClosedFiles(&files));
  manifest.book = book();
  RETURN_IF_ERROR(AdoptClosed(std::move(manifest)));
  world_.step("close remove");
  const std::lock_guard commit_lock(commit_);
  const std::lock_guard intern_lock(intern_);
  hot_.reset();
  RETURN_IF_ERROR(RemoveAll(PathOf(kHotFile)));
  return RemoveAll(PathOf(kHotFile) + std::string(".wal"));
}

base::Result<std::shared_ptr<Volume>> Volume::Merge(const VolumeWorld& world, VolumeId id,
                                                    std::span<const std::shared_ptr<Volume>> from) {
  std::shared_ptr<Volume> merged(new Volume(world, id));
  RETURN_IF_ERROR(RemoveAll(merged->folder()));
  RETURN_IF_ERROR(MakeFolder(merged->folder()));
  RETURN_IF_ERROR(WriteFileAtomically(merged->PathOf(kMergingFile), ""));
  index::Dictionary dictionary;
  std::vector<std::unique_ptr<index::IdMaps>> maps;
  ClosedFiles files;
  Ledger ledger;
  Book book;
  std::vector<std::shared_ptr<const Segment>> segments;
  Manifest replaced;
  for (const auto& volume : from) {
    const VolumeSnapshot snapshot = volume->Snapshot({}, [](TypeId, SeriesId) { return false; });
    if (snapshot.segments.size() != 1 || snapshot.names == nullptr) {
      return base::Error(base::ErrorCode::kCorrupt, volume->folder() + ": not whole");
    }
    const std::shared_ptr<const Segment>& segment = snapshot.segments.front();
    segments.push_back(segment);
    ASSIGN_OR_RETURN(const index::Dictionary theirs, index::LoadDictionary(segment->index->file()));
    maps.push_back(std::make_unique<index::IdMaps>(index::MergeDictionary(theirs, &dictionary)));
    const index::IdMaps& ids = *maps.back();
    files.rollups.Add(segment->index->file(), &ids);
    if (segment->rows != nullptr) {
      files.rows.push_back({segment->rows->path(), ids.types, ids.series, ids.tasks, ids.nodes});
      files.row_count += segment->entry.rows;
    }
    files.range.from_unix_ms =
        std::min(files.range.from_unix_ms, segment->entry.range.from_unix_ms);
    files.range.to_unix_ms = std::max(files.range.to_unix_ms, segment->entry.range.to_unix_ms);
    ASSIGN_OR_RETURN(const Ledger theirs_ledger, volume->ReadLedger());
    ledger.Merge(theirs_ledger);
    book.Add(volume->book());
    replaced.replaces.push_back(volume->id().number);
  }
  files.dictionary = &dictionary;
  files.ledger = &ledger;
  ASSIGN_OR_RETURN(Manifest manifest, merged->WriteClosedFiles(&files));
  manifest.book = book;
  manifest.replaces = std::move(replaced.replaces);
  RETURN_IF_ERROR(merged->AdoptClosed(std::move(manifest)));
  RETURN_IF_ERROR(RemoveAll(merged->PathOf(kMergingFile)));
  RETURN_IF_ERROR(merged->LoadClosedNames());
  return merged;
}

base::Result<void> Volume::ExpireRows() {
  Manifest manifest = this->manifest();
  ManifestSegment& segment = manifest.segments.front();
  if (segment.rows_file.empty()) return {};
  const std::string name = std::exchange(segment.rows_file, "");
  std::erase_if(manifest.files, [&name](const ManifestFile& file) { return file.name == name; });
  manifest.book.rows_expired += segment.rows;
  world_.step("expire rows");
  RETURN_IF_ERROR(WriteManifest(manifest));
  const std::unique_lock lock(state_);
  auto without = std::make_shared<Segment>(*segments_.front());
  without->rows->RemoveLater();
  without->rows = nullptr;
  without->entry = segment;
  segments_ = {std::move(without)};
  book_ = manifest.book;
  manifest_ = std::move(manifest);
  return {};
}

}  // namespace vesta::store
