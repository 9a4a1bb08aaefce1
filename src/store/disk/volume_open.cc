// Volumes are made, and found again: what was half done is finished or undone, what is damaged is
// set aside.
#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "src/base/json_reader.h"
#include "src/store/disk/day.h"
#include "src/store/disk/files.h"
#include "src/store/disk/volume.h"
#include "src/store/index/index_file.h"

namespace vesta::store {

namespace {

base::Result<Book> DecodeBook(duck::Bytes bytes) {
  ASSIGN_OR_RETURN(const base::JsonValue json,
                   base::ParseJson({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  return Book::FromJson(json);
}

}  // namespace

base::Result<std::shared_ptr<Volume>> Volume::Create(const VolumeWorld& world, VolumeId id) {
  std::shared_ptr<Volume> volume(new Volume(world, id));
  world.step("create volume");
  RETURN_IF_ERROR(MakeFolder(world.days_folder + "/" + DayName(id.day)));
  RETURN_IF_ERROR(MakeFolder(volume->folder()));
  RETURN_IF_ERROR(volume->LoadHot());
  RETURN_IF_ERROR(volume->WriteManifest(volume->manifest_));
  return volume;
}

base::Result<std::shared_ptr<Volume>> Volume::Open(const VolumeWorld& world, Manifest manifest,
                                                   std::vector<FoundDamage>* damage) {
  std::shared_ptr<Volume> volume(new Volume(world, {manifest.day, manifest.number}));
  volume->manifest_ = std::move(manifest);
  RETURN_IF_ERROR(volume->RemoveStrays());
  volume->OpenSegments(damage);
  if (volume->manifest_.is_closed) {
    volume->book_ = volume->manifest_.book;
    // Without an index it waits for SetAside.
    if (volume->segments_.front()->index == nullptr) return volume;
    const auto loaded = volume->LoadClosedNames();
    if (!loaded.ok()) damage->push_back({volume->id_, kIndexFile, loaded.error().message()});
  } else {
    RETURN_IF_ERROR(volume->LoadHot());
    volume->ForgetNameless(damage);
  }
  return volume;
}

// Files that no manifest knows are what a crash left behind.
base::Result<void> Volume::RemoveStrays() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder()));
  for (const std::string& name : names) {
    const bool is_hot = name == kHotFile || name == kHotFile + std::string(".wal");
    if (name == kManifestFile || (is_hot && !manifest_.is_closed) ||
        manifest_.FindFile(name) != nullptr) {
      continue;
    }
    RETURN_IF_ERROR(RemoveAll(PathOf(name)));
  }
  return {};
}

// Only sizes are compared here, and the head of each index read: checksums are for the maintenance.
void Volume::OpenSegments(std::vector<FoundDamage>* damage) {
  std::set<std::string> bad;
  const auto tell = [&](const std::string& name, const std::string& what) {
    if (bad.insert(name).second) damage->push_back({id_, name, what});
  };
  for (const ManifestFile& file : manifest_.files) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(PathOf(file.name), error);
    if (error) tell(file.name, error.message());
    if (!error && size != file.bytes) tell(file.name, "its size is not that of the manifest");
  }
  for (const ManifestSegment& entry : manifest_.segments) {
    auto segment = std::make_shared<Segment>();
    segment->entry = entry;
    if (!entry.rows_file.empty()) segment->rows = StoredFile(entry.rows_file);
    if (!entry.index_file.empty() && !bad.contains(entry.index_file)) {
      auto opened = MappedIndex::Open(StoredFile(entry.index_file), world_.cache);
      if (opened.ok()) segment->index = *std::move(opened);
      if (!opened.ok()) tell(entry.index_file, opened.error().message());
    }
    segments_.push_back(std::move(segment));
  }
}

bool Volume::HasNamesOf(const ManifestSegment& segment) const {
  const std::shared_lock lock(state_);
  if (dictionary_ == nullptr) return true;  // closed: its names are in its index
  const index::DictionaryMarks have = dictionary_->marks();
  for (size_t at = 0; at < index::kTableCount; ++at) {
    const auto table = static_cast<index::Table>(at);
    if (have.of(table) < segment.marks.of(table)) return false;
  }
  return true;
}

// The hot file may have come back without its last commits: without its log, or as an older copy.
void Volume::ForgetNameless(std::vector<FoundDamage>* damage) {
  const auto is_nameless = [this](const auto& segment) { return !HasNamesOf(segment->entry); };
  lacks_names_ = std::erase_if(segments_, is_nameless) > 0;
  for (const ManifestSegment& entry : manifest_.segments) {
    if (HasNamesOf(entry)) continue;
    for (const std::string& name : {entry.rows_file, entry.index_file}) {
      if (name.empty()) continue;
      std::erase_if(*damage, [&name](const FoundDamage& found) { return found.file == name; });
      damage->push_back(
          {id_, name,
           "names of its rows were lost with a part of " + std::string(kHotFile) + " or its log"});
    }
  }
}

base::Result<void> Volume::LoadClosedNames() {
  const index::VolumeReader reader(segments_.front()->index->file());
  const index::DictionaryMarks& marks = segments_.front()->index->file().marks();
  std::vector<SeriesId> series;
  std::vector<TypeId> types;
  for (uint32_t id = 0; id < marks.series; ++id) {
    ASSIGN_OR_RETURN(const Labels labels, reader.series(id));
    series.push_back(world_.catalog->InternSeries(labels));
  }
  for (uint32_t id = 0; id < marks.types; ++id) {
    ASSIGN_OR_RETURN(const ProfileType type, reader.type(id));
    types.push_back(world_.catalog->InternType(type));
  }
  const std::unique_lock lock(state_);
  series_ = std::move(series);
  types_ = std::move(types);
  return {};
}

base::Result<void> Volume::LoadHot() {
  auto hot = std::make_unique<Hot>();
  hot->dictionary = std::make_shared<index::Dictionary>();
  ASSIGN_OR_RETURN(hot->file, duck::HotFile::Open(*world_.database, PathOf(kHotFile)));
  // A crash may have left rows here that are sealed already.
  std::set<uint32_t> sealed;
  for (const ManifestSegment& segment : manifest_.segments) {
    sealed.insert(segment.part);
    hot->next_part = std::max(hot->next_part, segment.part + 1);
  }
  ASSIGN_OR_RETURN(const std::vector<duck::HotPart> parts, hot->file->Parts());
  for (const duck::HotPart& part : parts) {
    hot->next_part = std::max(hot->next_part, part.part + 1);
    if (sealed.contains(part.part)) RETURN_IF_ERROR(hot->file->DropPart(part.part));
  }
  Ledger ledger;
  Book book;
  index::Dictionary& dictionary = *hot->dictionary;
  RETURN_IF_ERROR(hot->file->Load(
      {.state = [&book](duck::Bytes bytes) -> base::Result<void> {
         ASSIGN_OR_RETURN(book, DecodeBook(bytes));
         return {};
       },
       .dictionary = [&dictionary](duck::Bytes bytes) { return dictionary.ApplyDelta(bytes); },
       .ledger = [&ledger](const duck::LedgerRow& row) -> base::Result<void> {
         ledger.Add(row.agent, row.boot, row.sequence);
         return {};
       },
       .rows =
           [&](uint32_t part, const duck::RowColumns& rows) {
             return LoadRows(part, rows, dictionary.marks());
           }}));
  hot->durable = dictionary.marks();
  hot->interner = std::make_unique<index::BatchInterner>(&dictionary);
  hot_ = std::move(hot);
  dictionary_ = hot_->dictionary;
  ledger_ = std::move(ledger);
  // Commits that the hot file has lost may have counted rows that are sealed since.
  uint64_t rows = open_rows_;
  for (const ManifestSegment& segment : manifest_.segments) rows += segment.rows;
  const uint64_t uncounted = rows - std::min(rows, book.outcome.rows_kept);
  book.outcome.rows_received += uncounted;
  book.outcome.rows_kept += uncounted;
  book_ = book;
  for (const auto& [id, part] : parts_) {
    hot_->part_of_hour[part->range().from_unix_ms / world_.part_ms] = id;
  }
  RegisterNames();
  dictionary_bytes_ = hot_->dictionary->memory_bytes();
  return {};
}

base::Result<void> Volume::LoadRows(uint32_t part, const duck::RowColumns& rows,
                                    const index::DictionaryMarks& marks) {
  const int64_t day_start = DayStartUnixMs(id_.day);
  for (size_t i = 0; i < rows.row_count; ++i) {
    if (rows.type[i] >= marks.types || rows.series[i] >= marks.series ||
        rows.task[i] >= marks.tasks || rows.stack[i] >= marks.nodes ||
        DayOf(rows.time_unix_ms[i]) != id_.day) {
      return base::Error(base::ErrorCode::kCorrupt,
                         PathOf(kHotFile) + ": a row with numbers that do not exist");
    }
  }
  std::shared_ptr<OpenPart>& open = parts_[part];
  if (open == nullptr) open = std::make_shared<OpenPart>(part, day_start);
  open->Add(rows);
  open_rows_ += rows.row_count;
  return {};
}

}  // namespace vesta::store
