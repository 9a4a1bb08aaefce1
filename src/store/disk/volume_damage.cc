// Damaged files are set aside; what can be made anew out of the others is.
#include <algorithm>
#include <utility>

#include "src/store/disk/day.h"
#include "src/store/disk/dictionary_files.h"
#include "src/store/disk/files.h"
#include "src/store/disk/volume.h"
#include "src/store/duck/parquet_rows.h"
#include "src/store/index/index_writer.h"
#include "src/store/index/rollup.h"

namespace vesta::store {

namespace {

constexpr const char* kOtherContent = "its checksum is not that of the manifest";

bool IsDictionaryFile(const std::string& name) {
  return name.ends_with(".parquet") && name != kRowsFile && !name.starts_with("seg-");
}

base::Result<std::vector<std::byte>> IndexOfRows(const duck::DuckDb& database,
                                                 const index::Dictionary& dictionary,
                                                 const std::string& rows_path,
                                                 bool with_dictionary) {
  index::IndexWriter writer;
  index::RollupBuilder builder(&dictionary, [&writer](const index::SeriesRollup& rollup) {
    return writer.AddRollup(rollup);
  });
  duck::ParquetRead read;
  read.path = rows_path;
  std::vector<uint32_t> types(dictionary.marks().types);
  for (uint32_t type = 0; type < types.size(); ++type) types[type] = type;
  read.types = types;
  read.every_series = true;
  read.columns = duck::kAllColumns & ~(duck::kTaskColumn | duck::kWeightColumn);
  RETURN_IF_ERROR(duck::ReadRows(database, read, [&builder](const duck::RowColumns& rows) {
    return builder.Add(
        {rows.type, rows.series, rows.stack, rows.time_unix_ms, rows.value, rows.count});
  }));
  RETURN_IF_ERROR(builder.Finish());
  if (with_dictionary) writer.AddDictionary(dictionary);
  return writer.Finish();
}

// The segment of a day whose single rows were gone, as its index has it.
base::Result<void> AddExpired(const std::string& folder, Manifest* manifest) {
  ASSIGN_OR_RETURN(
      const auto opened,
      MappedIndex::Open(std::make_shared<StoredPath>(folder + "/" + kIndexFile), nullptr));
  ManifestSegment segment = {
      .index_file = kIndexFile, .range = {INT64_MAX, INT64_MIN}, .marks = opened->file().marks()};
  for (const index::SeriesSummary& summary : opened->file().summaries()) {
    segment.rows += summary.rows;
    segment.range.from_unix_ms = std::min(segment.range.from_unix_ms, summary.time_min);
    segment.range.to_unix_ms = std::max(segment.range.to_unix_ms, summary.time_max + 1);
  }
  manifest->book.outcome.rows_received = segment.rows;
  manifest->book.outcome.rows_kept = segment.rows;
  manifest->book.rows_expired = segment.rows;
  manifest->segments.push_back(std::move(segment));
  return {};
}

}  // namespace

base::Result<std::string> Volume::SetAside(const std::string& name, const std::string& to,
                                           std::vector<FoundDamage>* more) {
  Manifest manifest = this->manifest();
  if (manifest.FindFile(name) == nullptr) return std::string("it was gone already");
  world_.step("set aside");
  if (Exists(PathOf(name))) RETURN_IF_ERROR(RenameDurably(PathOf(name), to));
  std::erase_if(manifest.files, [&name](const ManifestFile& file) { return file.name == name; });
  for (ManifestSegment& segment : manifest.segments) {
    if (segment.rows_file == name) return LoseRows(std::move(manifest), &segment);
    if (segment.index_file != name) continue;
    if (!HasNamesOf(segment)) return LoseSums(std::move(manifest), &segment);
    ManifestSegment* const entry = &segment;
    return RemakeIndex(std::move(manifest), entry, more);
  }
  if (name == kLedgerFile) {
    const std::unique_lock lock(state_);
    ledger_.emplace();
    RETURN_IF_ERROR(WriteFileAtomically(PathOf(name), "[]\n"));
    ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder(), name));
    manifest.files.push_back(std::move(file));
    RETURN_IF_ERROR(WriteManifest(manifest));
    manifest_ = std::move(manifest);
    return std::string("batches of that day that are sent again will be counted again");
  }
  if (name.ends_with(kNamesSuffix)) return RemakeNames(std::move(manifest), name);
  if (IsDictionaryFile(name)) return RemakeTables(std::move(manifest));
  return base::Error(base::ErrorCode::kCorrupt, name + " cannot be made anew");
}

base::Result<std::string> Volume::LoseRows(Manifest manifest, ManifestSegment* segment) {
  const std::string name = std::exchange(segment->rows_file, "");
  const uint64_t rows = segment->rows;
  const bool has_names = HasNamesOf(*segment);
  const bool has_sums = has_names && !segment->index_file.empty();
  manifest.book.rows_quarantined += rows;
  RETURN_IF_ERROR(WriteManifest(manifest));
  const std::unique_lock lock(state_);
  for (auto& known : segments_) {
    if (known->entry.rows_file != name) continue;
    auto without = std::make_shared<Segment>(*known);
    without->rows = nullptr;
    without->entry.rows_file.clear();
    known = std::move(without);
  }
  std::erase_if(segments_, [](const auto& known) { return known->entry.is_lost(); });
  if (manifest.is_closed) book_ = manifest.book;
  manifest_ = std::move(manifest);
  if (!has_sums) return std::to_string(rows) + " rows are lost";
  return std::to_string(rows) + " single rows are lost, their sums are kept";
}

base::Result<std::string> Volume::LoseSums(Manifest manifest, ManifestSegment* segment) {
  const std::string name = std::exchange(segment->index_file, "");
  RETURN_IF_ERROR(WriteManifest(manifest));
  const std::unique_lock lock(state_);
  for (auto& known : segments_) {
    if (known->entry.index_file != name) continue;
    auto without = std::make_shared<Segment>(*known);
    without->index = nullptr;
    without->entry.index_file.clear();
    known = std::move(without);
  }
  std::erase_if(segments_, [](const auto& known) { return known->entry.is_lost(); });
  manifest_ = std::move(manifest);
  return std::string("the sums of its rows are lost");
}

// Errors: Corrupt or NotFound when there are no rows to make it of, or these are damaged, too.
base::Result<std::vector<std::byte>> Volume::IndexAnew(const Manifest& manifest,
                                                       const ManifestSegment& entry) const {
  const ManifestFile* const rows = manifest.FindFile(entry.rows_file);
  if (rows == nullptr) {
    return base::Error(base::ErrorCode::kCorrupt,
                       entry.index_file + ": there are no rows to make it of");
  }
  for (const ManifestFile& file : manifest.files) {
    if (file.name != rows->name && !(manifest.is_closed && IsDictionaryFile(file.name))) continue;
    ASSIGN_OR_RETURN(const ManifestFile found, DescribeFile(folder(), file.name));
    if (found == file) continue;
    return base::Error(base::ErrorCode::kCorrupt, file.name + ": " + kOtherContent);
  }
  std::shared_ptr<const index::Dictionary> dictionary;
  {
    const std::shared_lock lock(state_);
    dictionary = dictionary_;
  }
  if (dictionary == nullptr) {
    ASSIGN_OR_RETURN(index::Dictionary read, ReadDictionaryFiles(*world_.database, folder()));
    dictionary = std::make_shared<index::Dictionary>(std::move(read));
  }
  return IndexOfRows(*world_.database, *dictionary, PathOf(entry.rows_file), manifest.is_closed);
}

base::Result<std::string> Volume::RemakeIndex(Manifest manifest, ManifestSegment* entry,
                                              std::vector<FoundDamage>* more) {
  const std::string name = entry->index_file;
  const auto bytes = IndexAnew(manifest, *entry);
  if (!bytes.ok() && IsDamage(bytes.error()) && !manifest.is_closed) {
    // The other hours have nothing to do with it.
    if (!entry->rows_file.empty()) {
      more->push_back({id_, entry->rows_file, bytes.error().message()});
    }
    return LoseSums(std::move(manifest), entry);
  }
  if (!bytes.ok()) return bytes.error();
  RETURN_IF_ERROR(WriteFileAtomically(
      PathOf(name), std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size())));
  ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder(), name));
  manifest.files.push_back(std::move(file));
  ASSIGN_OR_RETURN(const auto index, MappedIndex::Open(StoredFile(name), world_.cache));
  RETURN_IF_ERROR(WriteManifest(manifest));
  {
    const std::unique_lock lock(state_);
    for (auto& known : segments_) {
      if (known->entry.index_file != name) continue;
      auto whole = std::make_shared<Segment>(*known);
      whole->index = index;
      known = std::move(whole);
    }
    manifest_ = std::move(manifest);
  }
  if (is_closed()) RETURN_IF_ERROR(LoadClosedNames());
  return std::string("it was made anew out of the rows");
}

base::Result<std::string> Volume::RemakeTables(Manifest manifest) {
  std::shared_ptr<const MappedIndex> names;
  {
    const std::shared_lock lock(state_);
    if (!segments_.empty()) names = segments_.front()->index;
  }
  if (names == nullptr || !manifest.is_closed) {
    return base::Error(base::ErrorCode::kCorrupt, folder() + ": names are damaged twice");
  }
  ASSIGN_OR_RETURN(const index::Dictionary dictionary, index::LoadDictionary(names->file()));
  ASSIGN_OR_RETURN(const auto tables, WriteDictionaryFiles(*world_.database, dictionary, folder(),
                                                           kAsideSuffix, nullptr));
  for (const std::string& table : tables) {
    RETURN_IF_ERROR(RenameDurably(PathOf(table) + std::string(kAsideSuffix), PathOf(table)));
    std::erase_if(manifest.files, [&](const ManifestFile& file) { return file.name == table; });
    ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder(), table));
    manifest.files.push_back(std::move(file));
  }
  RETURN_IF_ERROR(WriteManifest(manifest));
  const std::unique_lock lock(state_);
  manifest_ = std::move(manifest);
  return std::string("it was made anew out of the index");
}

base::Result<std::vector<FoundDamage>> Volume::Verify(const std::string& name) const {
  std::vector<FoundDamage> damage;
  const Manifest manifest = this->manifest();
  const ManifestFile* const file = manifest.FindFile(name);
  if (file == nullptr) return damage;
  const auto found = DescribeFile(folder(), name, [this] { return world_.stop->load(); });
  if (!found.ok() && !IsDamage(found.error())) return found.error();
  if (!found.ok()) damage.push_back({id_, name, found.error().message()});
  if (found.ok() && *found != *file) damage.push_back({id_, name, kOtherContent});
  return damage;
}

base::Result<std::vector<FoundDamage>> Volume::VerifyAll() const {
  std::vector<FoundDamage> damage;
  for (const ManifestFile& file : this->manifest().files) {
    ASSIGN_OR_RETURN(const std::vector<FoundDamage> found, Verify(file.name));
    damage.insert(damage.end(), found.begin(), found.end());
  }
  return damage;
}

// What the files of a volume say when its manifest is lost: nothing that was acknowledged may go.
base::Result<std::optional<Manifest>> Volume::GuessManifest(const duck::DuckDb& database,
                                                            VolumeId id,
                                                            const std::string& folder) {
  Manifest manifest = {.day = id.day, .number = id.number};
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  const auto has = [&names](const std::string& name) {
    return std::binary_search(names.begin(), names.end(), name);
  };
  const auto add_segment = [&](uint32_t part, const std::string& rows_file,
                               const std::string& index_file) -> base::Result<void> {
    ASSIGN_OR_RETURN(const auto summary, duck::SummarizeRows(database, folder + "/" + rows_file));
    manifest.segments.push_back({.part = part,
                                 .rows_file = rows_file,
                                 .index_file = index_file,
                                 .rows = summary.rows,
                                 .range = {summary.time_unix_ms_min, summary.time_unix_ms_max + 1},
                                 .marks = {.nodes = summary.stack_max + 1,
                                           .series = summary.series_max + 1,
                                           .types = summary.type_max + 1,
                                           .tasks = summary.task_max + 1}});
    manifest.book.outcome.rows_received += summary.rows;
    manifest.book.outcome.rows_kept += summary.rows;
    return {};
  };
  if (!has(kHotFile)) {
    // Closed, or it was only being made.
    if (std::any_of(names.begin(), names.end(),
                    [](const std::string& name) { return name.starts_with("seg-"); }) &&
        !has(kIndexFile)) {
      return base::Error(base::ErrorCode::kCorrupt,
                         folder + ": without its manifest and " + kHotFile);
    }
    if (has(kMergingFile) || (!has(kRowsFile) && !has(kIndexFile))) {
      return std::optional<Manifest>();
    }
    manifest.is_closed = true;
    if (has(kRowsFile)) {
      RETURN_IF_ERROR(add_segment(0, kRowsFile, kIndexFile));
    } else {
      RETURN_IF_ERROR(AddExpired(folder, &manifest));
    }
    // As one that is damaged, it is made anew.
    if (!has(kIndexFile)) manifest.files.push_back({kIndexFile, 0, std::string(32, '0')});
    for (const std::string& name : names) {
      if (name == kManifestFile || name.ends_with(kAsideSuffix) || name.starts_with("seg-")) {
        continue;
      }
      ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder, name));
      manifest.files.push_back(std::move(file));
    }
    return std::optional(std::move(manifest));
  }
  // Open: a segment counts when its part is gone from the hot file. The book is in the hot file.
  std::vector<uint32_t> hot_parts;
  {
    ASSIGN_OR_RETURN(const auto hot, duck::HotFile::Open(database, folder + "/" + kHotFile));
    ASSIGN_OR_RETURN(const auto parts, hot->Parts());
    for (const duck::HotPart& part : parts) hot_parts.push_back(part.part);
  }
  for (const std::string& name : names) {
    if (!name.starts_with("seg-") || !name.ends_with(".parquet")) continue;
    const std::string stem = name.substr(0, name.size() - std::string(".parquet").size());
    const auto part = static_cast<uint32_t>(std::atoi(stem.c_str() + 4));
    if (!has(stem + ".idx") ||
        std::find(hot_parts.begin(), hot_parts.end(), part) != hot_parts.end()) {
      continue;
    }
    RETURN_IF_ERROR(add_segment(part, name, stem + ".idx"));
    for (const std::string& file_name : {name, stem + ".idx"}) {
      ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder, file_name));
      manifest.files.push_back(std::move(file));
    }
  }
  manifest.book = {};
  return std::optional(std::move(manifest));
}

Book Volume::BookOfDamaged(const duck::DuckDb& database, const std::string& folder) {
  Book book;
  const auto names = ListFolder(folder);
  if (!names.ok()) return book;
  for (const std::string& name : *names) {
    if (name != kRowsFile && !name.starts_with("seg-")) continue;
    if (!name.ends_with(".parquet")) continue;
    const auto summary = duck::SummarizeRows(database, folder + "/" + name);
    if (!summary.ok()) continue;
    book.outcome.rows_received += summary->rows;
    book.outcome.rows_kept += summary->rows;
    book.rows_quarantined += summary->rows;
  }
  return book;
}

}  // namespace vesta::store
