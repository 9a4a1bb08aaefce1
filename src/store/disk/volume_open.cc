// Volumes are made, and found again: what was half done is finished or undone, what is damaged is
// set aside.
#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "src/store/disk/day.h"
#include "src/store/disk/files.h"
#include "src/store/disk/volume.h"
#include "src/store/index/index_file.h"

namespace vesta::store {

base::Result<std::shared_ptr<Volume>> Volume::Create(const VolumeWorld& world, VolumeId id) {
  std::shared_ptr<Volume> volume(new Volume(world, id));
  world.step("create volume");
  RETURN_IF_ERROR(MakeFolder(world.days_folder + "/" + DayName(id.day)));
  if (auto filled = volume->Fill(); !filled.ok()) {
    volume->Abandon();
    return std::move(filled).error();
  }
  return volume;
}

base::Result<void> Volume::Fill() {
  RETURN_IF_ERROR(MakeFolder(folder()));
  RETURN_IF_ERROR(LoadHot());
  return WriteManifest(manifest_);
}

void Volume::Abandon() {
  hot_.reset();  // its files are in there
  // What stays all the same is removed, or found whole, when the store is opened the next time.
  (void)RemoveAll(folder()).ok();
}

base::Result<std::shared_ptr<Volume>> Volume::Open(const VolumeWorld& world, Manifest manifest,
                                                   std::vector<FoundDamage>* damage) {
  std::shared_ptr<Volume> volume(new Volume(world, {manifest.day, manifest.number}));
  volume->manifest_ = std::move(manifest);
  RETURN_IF_ERROR(volume->RemoveStrays());
  RETURN_IF_ERROR(volume->OpenSegments(damage));
  if (volume->manifest_.is_closed) {
    volume->book_ = volume->manifest_.book;
    // Without an index it waits for SetAside.
    if (volume->segments_.front()->index == nullptr) return volume;
    const auto loaded = volume->LoadClosedNames();
    if (!loaded.ok() && !IsDamage(loaded.error())) {
      return loaded.error().Context(volume->PathOf(kIndexFile));
    }
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
    const bool is_hot = name.starts_with(kHotFile);  // DuckDB has several logs while it moves one
    if (name == kManifestFile || (is_hot && !manifest_.is_closed) ||
        manifest_.FindFile(name) != nullptr) {
      continue;
    }
    RETURN_IF_ERROR(RemoveAll(PathOf(name)));
  }
  return {};
}

base::Result<void> Volume::RemoveHotFiles() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder()));
  for (const std::string& name : names) {
    if (name.starts_with(kHotFile)) RETURN_IF_ERROR(RemoveAll(PathOf(name)));
  }
  return {};
}

void Volume::RemoveAsides() const {
  const auto names = ListFolder(folder());
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (name.ends_with(kAsideSuffix)) (void)RemoveAll(PathOf(name)).ok();
  }
}

// Only sizes are compared here, and the head of each index read: checksums are for the maintenance.
base::Result<void> Volume::OpenSegments(std::vector<FoundDamage>* damage) {
  std::set<std::string> bad;
  const auto tell = [&](const std::string& name, const std::string& what) {
    if (bad.insert(name).second) damage->push_back({id_, name, what});
  };
  for (const ManifestFile& file : manifest_.files) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(PathOf(file.name), error);
    if (error) {
      const base::Error failed = base::ErrnoError("opening " + PathOf(file.name), error.value());
      if (!IsDamage(failed)) return failed;
      tell(file.name, error.message());
    }
    if (!error && size != file.bytes) tell(file.name, "its size is not that of the manifest");
  }
  for (const ManifestSegment& entry : manifest_.segments) {
    if (entry.is_lost()) continue;
    auto segment = std::make_shared<Segment>();
    segment->entry = entry;
    if (!entry.rows_file.empty()) segment->rows = StoredFile(entry.rows_file);
    if (!entry.index_file.empty() && !bad.contains(entry.index_file)) {
      auto opened = MappedIndex::Open(StoredFile(entry.index_file), world_.cache);
      if (!opened.ok() && !IsDamage(opened.error())) return opened.error();
      if (opened.ok()) segment->index = *std::move(opened);
      if (!opened.ok()) tell(entry.index_file, opened.error().message());
    }
    segments_.push_back(std::move(segment));
  }
  return {};
}

bool Volume::HasNamesOf(const ManifestSegment& segment) const {
  const std::shared_lock lock(state_);
  if (dictionary_ == nullptr) return true;  // closed: its names are in its index
  return Reaches(dictionary_->marks(), segment.marks);
}

// The hot file may have come back without its last commits: without its log, or as an older copy.
void Volume::ForgetNameless(std::vector<FoundDamage>* damage) {
  std::erase_if(segments_, [this](const auto& segment) { return !HasNamesOf(segment->entry); });
  lacks_names_ =
      std::any_of(manifest_.segments.begin(), manifest_.segments.end(),
                  [this](const ManifestSegment& segment) { return !HasNamesOf(segment); });
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
  HeldSeries series(world_.catalog);
  std::vector<TypeId> types;
  for (uint32_t id = 0; id < marks.series; ++id) {
    ASSIGN_OR_RETURN(const Labels labels, reader.series(id));
    series.Add(labels);
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
         ASSIGN_OR_RETURN(
             book, Book::Decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
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
  hot->commits = hot->file->next_commit();
  hot->has_hours = id_.day >= DayOf(world_.now_unix_ms());
  if (!Reaches(dictionary.marks(), manifest_.names_marks)) {
    auto names = ReadNames();
    if (!names.ok() && !IsDamage(names.error())) return std::move(names).error();
    // The next commit writes down again what the hot file lacks.
    if (names.ok()) dictionary = *std::move(names);
  }
  hot->interner = std::make_unique<index::BatchInterner>(&dictionary);
  hot_ = std::move(hot);
  dictionary_ = hot_->dictionary;
  ledger_ = std::move(ledger);
  CountLost(&book);
  book_ = book;
  for (const auto& [id, part] : parts_) {
    hot_->part_of_hour[HourOf(part->range().from_unix_ms)] = id;
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
