// An open volume is closed: its segments become one, its dictionary goes along; and several closed
// volumes of a day become one.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "src/base/json.h"
#include "src/profile/profile.h"
#include "src/store/disk/dictionary_files.h"
#include "src/store/disk/files.h"
#include "src/store/disk/volume.h"
#include "src/store/duck/parquet_rows.h"
#include "src/store/index/index_writer.h"
#include "src/store/index/rollup.h"
#include "src/store/symbols/bake_names.h"

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
  // Names of functions have changed: they are summed anew from the stacks.
  void SumFunctionsBy(const index::NodeSource* source) { source_ = source; }
  // The numbers of stacks become those of `order`.
  base::Result<void> WriteTo(const index::NodeOrder& order, index::IndexWriter* writer) {
    std::optional<index::FunctionSummer> summer;
    if (source_ != nullptr) summer.emplace(source_);
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
      if (summer) RETURN_IF_ERROR(summer->Sum(rollup.stacks, &rollup.functions));
      index::RemapNodes(order.number, &rollup);
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
  base::Result<index::SeriesRollup> Read(const Input& input) const {
    ASSIGN_OR_RETURN(index::SeriesRollup rollup, input.file->ReadRollup(input.place));
    if (source_ != nullptr) rollup.functions.clear();
    if (input.maps != nullptr) index::RemapRollup(*input.maps, &rollup);
    return rollup;
  }
  std::vector<Input> inputs_;
  const index::NodeSource* source_ = nullptr;
};

// The dictionary with names that came late, if there are any for it.
base::Result<std::optional<index::Dictionary>> LateDictionary(const index::Dictionary& dictionary,
                                                              uint64_t after,
                                                              symbols::SymbolView* view) {
  const index::DictionaryMarks marks = dictionary.marks();
  ASSIGN_OR_RETURN(const bool has_late_names,
                   symbols::HasLateNames(dictionary, marks.images, marks.frames, after, view));
  std::optional<index::Dictionary> late;
  if (has_late_names) {
    ASSIGN_OR_RETURN(late, symbols::BakeNames(dictionary, after, view));
    late->DropIndexes();
  }
  return late;
}

// What rows of a (type, series) add up to.
struct RowSum {
  uint64_t rows = 0;
  int64_t value = 0;
  int64_t count = 0;
  friend bool operator==(const RowSum&, const RowSum&) = default;
  void Add(uint64_t more_rows, int64_t more_value, int64_t more_count) {
    rows += more_rows;
    value = profile::AddSaturating(value, more_value);
    count = profile::AddSaturating(count, more_count);
  }
};
using RowSums = std::map<std::pair<uint32_t, uint32_t>, RowSum>;

void AddSummaries(const index::IndexFile& file, const index::IdMaps* maps, RowSums* sums) {
  for (const index::SeriesSummary& summary : file.summaries()) {
    const std::pair key(maps == nullptr ? summary.type : maps->types[summary.type],
                        maps == nullptr ? summary.series : maps->series[summary.series]);
    (*sums)[key].Add(summary.rows, summary.value, summary.count);
  }
}

base::Result<RowSums> SumsOfRows(const duck::DuckDb& database, const std::string& path,
                                 uint32_t type_count) {
  RowSums sums;
  std::vector<uint32_t> types(type_count);
  std::iota(types.begin(), types.end(), 0u);
  duck::ParquetRead read;
  read.path = path;
  read.types = types;
  read.every_series = true;
  read.columns = duck::kTypeColumn | duck::kSeriesColumn | duck::kValueColumn | duck::kCountColumn;
  std::pair<uint32_t, uint32_t> last = {UINT32_MAX, UINT32_MAX};
  RowSum* sum = nullptr;
  RETURN_IF_ERROR(
      duck::ReadRows(database, read, [&](const duck::RowColumns& rows) -> base::Result<void> {
        for (size_t i = 0; i < rows.row_count; ++i) {
          const std::pair key(rows.type[i], rows.series[i]);
          if (sum == nullptr || key != last) sum = &sums[key];
          last = key;
          sum->Add(1, rows.value[i], rows.count[i]);
        }
        return {};
      }));
  return sums;
}

ManifestFile WrittenFile(const Manifest& manifest, const std::string& name) {
  const ManifestFile* const file = manifest.FindFile(name);
  return file == nullptr ? ManifestFile{name, 0, ""} : *file;
}

base::Error NotTheSums(const std::string& path) {
  return base::Error(base::ErrorCode::kCorrupt,
                     path + ": its rows do not add up to the sums that were kept of them");
}

}  // namespace

// What a closed volume is made of, whether one was open or several are merged.
struct Volume::ClosedFiles {
  struct Rows {
    std::shared_ptr<const Segment> segment;
    VolumeId volume;
    std::string folder;
    ManifestFile written;
    const index::IdMaps* maps = nullptr;  // nothing = the numbers stay
    uint32_t type_count = 0;              // of its own numbers
    bool has_all_sums = true;             // its sums are those of its rows, no more and no less
  };
  const index::Dictionary* dictionary = nullptr;
  RollupMerge rollups;
  std::vector<Rows> rows;  // none = raw rows are gone
  uint64_t row_count = 0;
  TimeRange range = {INT64_MAX, INT64_MIN};
  const Ledger* ledger = nullptr;
};

// Pages have no checksums: what was damaged since it was written would be read as other values, and
// get a good checksum in the file that is made of it.
base::Result<void> Volume::CheckInputs(const ClosedFiles& from,
                                       std::vector<FoundDamage>* damage) const {
  std::optional<base::Error> first;
  for (const ClosedFiles::Rows& rows : from.rows) {
    const auto stop = [this] { return world_.stop->load(); };
    const auto found = DescribeFile(rows.folder, rows.written.name, stop);
    if (!found.ok() && !IsDamage(found.error())) return found.error();
    if (found.ok() && *found == rows.written) continue;
    const std::string what =
        found.ok() ? "its checksum is not that of the manifest" : found.error().message();
    damage->push_back({rows.volume, rows.written.name, what});
    if (!first) {
      first = base::Error(base::ErrorCode::kCorrupt,
                          rows.folder + "/" + rows.written.name + ": " + what);
    }
  }
  if (first) return *first;
  return {};
}

// Whether the rows at `path` are those of the roll-ups. If not, the inputs that are not, either,
// are damaged.
base::Result<void> Volume::CheckSums(const ClosedFiles& from, const std::string& path,
                                     std::vector<FoundDamage>* damage) const {
  RowSums expected;
  for (const ClosedFiles::Rows& rows : from.rows) {
    if (!rows.has_all_sums) return {};
    AddSummaries(rows.segment->index->file(), rows.maps, &expected);
  }
  ASSIGN_OR_RETURN(const RowSums sums,
                   SumsOfRows(*world_.database, path, from.dictionary->marks().types));
  if (sums == expected) return {};
  for (const ClosedFiles::Rows& rows : from.rows) {
    RowSums of_input;
    AddSummaries(rows.segment->index->file(), nullptr, &of_input);
    const std::string input = rows.folder + "/" + rows.written.name;
    const auto found = SumsOfRows(*world_.database, input, rows.type_count);
    if (!found.ok() && !IsDamage(found.error())) return found.error();
    if (found.ok() && *found == of_input) continue;
    damage->push_back({rows.volume, rows.written.name,
                       found.ok() ? NotTheSums(input).message() : found.error().message()});
  }
  return NotTheSums(path);
}

base::Result<void> Volume::WriteRows(const ClosedFiles& from, const index::NodeOrder& order,
                                     std::vector<FoundDamage>* damage) const {
  RETURN_IF_ERROR(CheckInputs(from, damage));
  std::vector<duck::CompactInput> inputs;
  std::vector<std::vector<uint32_t>> stacks(from.rows.size());  // of those that are merged
  for (const ClosedFiles::Rows& rows : from.rows) {
    duck::CompactInput& input = inputs.emplace_back();
    input.path = rows.folder + "/" + rows.written.name;
    input.stack = order.number;
    if (rows.maps == nullptr) continue;
    input.type = rows.maps->types;
    input.series = rows.maps->series;
    input.task = rows.maps->tasks;
    std::vector<uint32_t>& stack = stacks[inputs.size() - 1];
    stack.reserve(rows.maps->nodes.size());
    for (const uint32_t node : rows.maps->nodes) stack.push_back(order.number[node]);
    input.stack = stack;
  }
  const std::string path = PathOf(kRowsFile) + std::string(kAsideSuffix);
  ASSIGN_OR_RETURN(const uint64_t written,
                   duck::CompactRows(*world_.database, inputs, path, world_.stop));
  if (written != from.row_count) {
    return base::Error(base::ErrorCode::kCorrupt, folder() + ": " + std::to_string(written) +
                                                      " rows instead of " +
                                                      std::to_string(from.row_count));
  }
  return CheckSums(from, path, damage);
}

base::Result<Manifest> Volume::WriteClosedFiles(ClosedFiles* from,
                                                std::vector<FoundDamage>* damage) {
  std::vector<std::string> names;
  ManifestSegment segment = {.index_file = kIndexFile,
                             .rows = from->row_count,
                             .range = from->range,
                             .marks = from->dictionary->marks()};
  const index::NodeOrder order = index::WalkOrder(*from->dictionary);
  if (!from->rows.empty()) {
    world_.step("close rows");
    segment.rows_file = kRowsFile;
    names.emplace_back(kRowsFile);
    RETURN_IF_ERROR(WriteRows(*from, order, damage));
  }
  world_.step("close dictionary");
  ASSIGN_OR_RETURN(const auto tables, WriteDictionaryFiles(*world_.database, *from->dictionary,
                                                           folder(), kAsideSuffix, &order));
  names.insert(names.end(), tables.begin(), tables.end());
  for (const std::string& name : names) {
    RETURN_IF_ERROR(RenameDurably(PathOf(name) + std::string(kAsideSuffix), PathOf(name)));
  }
  world_.step("close index");
  index::IndexWriter writer;
  RETURN_IF_ERROR(from->rollups.WriteTo(order, &writer));
  writer.AddDictionary(*from->dictionary, &order);
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
  const auto remove = [this](const StoredPath& path, const std::string& name) {
    const ManifestFile* const file = manifest_.FindFile(name);
    path.RemoveLater(file == nullptr ? 0 : file->bytes, &world_.doomed_bytes);
  };
  for (const auto& old : segments_) {
    if (old->rows != nullptr) remove(*old->rows, old->entry.rows_file);
    if (old->index != nullptr) remove(old->index->stored(), old->entry.index_file);
  }
  // Nobody reads them any more; what stays is removed at the next start.
  for (const std::string& name : manifest_.names_files) (void)RemoveAll(PathOf(name)).ok();
  book_ = manifest.book;
  manifest_ = std::move(manifest);
  segments_ = {std::move(segment)};
  dictionary_ = nullptr;
  dictionary_bytes_ = 0;
  ledger_.reset();
  return {};
}

base::Result<void> Volume::Close(std::vector<FoundDamage>* damage) {
  if (is_closed()) return RemoveHotFiles();  // all but this was done before
  for (const uint32_t part : PartsToSeal(INT64_MAX, 0)) RETURN_IF_ERROR(SealPart(part));
  ClosedFiles files;
  Manifest manifest;
  std::vector<std::shared_ptr<const Segment>> segments;
  {
    const std::shared_lock lock(state_);
    segments = segments_;
    files.ledger = &*ledger_;  // nothing is appended any more
  }
  {
    const std::lock_guard intern_lock(intern_);
    hot_->dictionary->DropIndexes();  // the room is needed for the files
    dictionary_bytes_ = hot_->dictionary->memory_bytes();
  }
  symbols::SymbolView view = world_.repairs->files().View();
  ASSIGN_OR_RETURN(const auto late, LateDictionary(*hot_->dictionary, 0, &view));
  world_.repairs->files().NoteDamage(view);
  files.dictionary = late ? &*late : hot_->dictionary.get();
  if (late) files.rollups.SumFunctionsBy(files.dictionary);
  const Manifest before = this->manifest();
  for (const auto& segment : segments) {
    if (segment->index == nullptr) {
      // It is made anew first, or its rows are set aside: they must not stay without sums.
      const bool has_name = !segment->entry.index_file.empty();
      const std::string& name = has_name ? segment->entry.index_file : segment->entry.rows_file;
      damage->push_back({id_, name, "the sums of its rows cannot be read"});
      return base::Error(base::ErrorCode::kCorrupt, PathOf(name) + ": " + damage->back().what);
    }
    files.rollups.Add(segment->index->file(), nullptr);
    if (segment->rows != nullptr) {
      files.rows.push_back({.segment = segment,
                            .volume = id_,
                            .folder = folder(),
                            .written = WrittenFile(before, segment->entry.rows_file),
                            .type_count = files.dictionary->marks().types});
      files.row_count += segment->entry.rows;
    }
    files.range.from_unix_ms =
        std::min(files.range.from_unix_ms, segment->entry.range.from_unix_ms);
    files.range.to_unix_ms = std::max(files.range.to_unix_ms, segment->entry.range.to_unix_ms);
  }
  ASSIGN_OR_RETURN(manifest, WriteClosedFiles(&files, damage));
  manifest.book = book();
  manifest.symbols_version = view.version();
  RETURN_IF_ERROR(AdoptClosed(std::move(manifest)));
  world_.step("close remove");
  const std::lock_guard commit_lock(commit_);
  const std::lock_guard intern_lock(intern_);
  hot_.reset();
  return RemoveHotFiles();
}

base::Result<std::shared_ptr<Volume>> Volume::Merge(const VolumeWorld& world, VolumeId id,
                                                    std::span<const std::shared_ptr<Volume>> from,
                                                    std::vector<FoundDamage>* damage) {
  std::shared_ptr<Volume> merged(new Volume(world, id));
  if (auto filled = merged->Fill(from, damage); !filled.ok()) {
    merged->Abandon();
    return std::move(filled).error();
  }
  return merged;
}

base::Result<void> Volume::Fill(std::span<const std::shared_ptr<Volume>> from,
                                std::vector<FoundDamage>* damage) {
  RETURN_IF_ERROR(RemoveAll(folder()));
  RETURN_IF_ERROR(MakeFolder(folder()));
  RETURN_IF_ERROR(WriteFileAtomically(PathOf(kMergingFile), ""));
  index::Dictionary dictionary;
  std::vector<std::unique_ptr<index::IdMaps>> maps;
  ClosedFiles files;
  Ledger ledger;
  Book book;
  std::vector<std::shared_ptr<const Segment>> segments;
  Manifest replaced;
  symbols::SymbolView view = world_.repairs->files().View();
  for (const auto& volume : from) {
    const VolumeSnapshot snapshot = volume->Snapshot({}, [](TypeId, SeriesId) { return false; });
    if (snapshot.segments.size() != 1 || snapshot.names == nullptr) {
      return base::Error(base::ErrorCode::kCorrupt, volume->folder() + ": not whole");
    }
    const std::shared_ptr<const Segment>& segment = snapshot.segments.front();
    segments.push_back(segment);
    ASSIGN_OR_RETURN(index::Dictionary theirs, index::LoadDictionary(segment->index->file()));
    ASSIGN_OR_RETURN(auto late, LateDictionary(theirs, snapshot.symbols_version, &view));
    if (late) {
      theirs = *std::move(late);
      files.rollups.SumFunctionsBy(&dictionary);
    }
    maps.push_back(std::make_unique<index::IdMaps>(index::MergeDictionary(theirs, &dictionary)));
    const index::IdMaps& ids = *maps.back();
    files.rollups.Add(segment->index->file(), &ids);
    if (segment->rows != nullptr) {
      files.rows.push_back({.segment = segment,
                            .volume = volume->id(),
                            .folder = volume->folder(),
                            .written = WrittenFile(volume->manifest(), segment->entry.rows_file),
                            .maps = &ids,
                            .type_count = theirs.marks().types,
                            .has_all_sums = volume->book().rows_quarantined == 0});
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
  dictionary.DropIndexes();
  world_.repairs->files().NoteDamage(view);
  files.dictionary = &dictionary;
  files.ledger = &ledger;
  ASSIGN_OR_RETURN(Manifest manifest, WriteClosedFiles(&files, damage));
  manifest.book = book;
  manifest.symbols_version = view.version();
  manifest.replaces = std::move(replaced.replaces);
  RETURN_IF_ERROR(AdoptClosed(std::move(manifest)));
  RETURN_IF_ERROR(RemoveAll(PathOf(kMergingFile)));
  return LoadClosedNames();
}

base::Result<void> Volume::ExpireRows() {
  Manifest manifest = this->manifest();
  ManifestSegment& segment = manifest.segments.front();
  if (segment.rows_file.empty()) return {};
  const std::string name = std::exchange(segment.rows_file, "");
  const ManifestFile* const written = manifest.FindFile(name);
  const uint64_t bytes = written == nullptr ? 0 : written->bytes;
  std::erase_if(manifest.files, [&name](const ManifestFile& file) { return file.name == name; });
  manifest.book.rows_expired += segment.rows;
  world_.step("expire rows");
  RETURN_IF_ERROR(WriteManifest(manifest));
  const std::unique_lock lock(state_);
  auto without = std::make_shared<Segment>(*segments_.front());
  without->rows->RemoveLater(bytes, &world_.doomed_bytes);
  without->rows = nullptr;
  without->entry = segment;
  segments_ = {std::move(without)};
  book_ = manifest.book;
  manifest_ = std::move(manifest);
  return {};
}

}  // namespace vesta::store
