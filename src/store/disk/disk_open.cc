// The folder is opened: locked, checked, its volumes found.
#include <algorithm>
#include <ctime>
#include <utility>

#include "src/store/disk/day.h"
#include "src/store/disk/disk_store_impl.h"

namespace vesta::store {

namespace {

constexpr const char* kFormatText = "vesta store ";
constexpr size_t kPageCacheBytes = size_t{48} << 20;
constexpr size_t kManifestBytesMax = size_t{16} << 20;

// Beside what a first start that was killed has left, and what a new file system has.
bool IsEmpty(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "LOCK" || name == "FORMAT.tmp" || name == "lost+found";
  });
}

}  // namespace

DiskStore::Impl::Impl(DiskStoreOptions options) : options_(std::move(options)) {
  if (!options_.now_unix_ms) {
    options_.now_unix_ms = [] {
      return std::chrono::duration_cast<std::chrono::milliseconds>(
                 std::chrono::system_clock::now().time_since_epoch())
          .count();
    };
  }
  if (!options_.steady_ms) {
    options_.steady_ms = [] {
      timespec now = {};
      (void)::clock_gettime(CLOCK_BOOTTIME, &now);
      return now.tv_sec * int64_t{1'000} + now.tv_nsec / 1'000'000;
    };
  }
  if (!options_.disk_space) options_.disk_space = DiskSpaceOf;
  if (!options_.step_hook) options_.step_hook = [](std::string_view) {};
  catalog_ = std::make_unique<Catalog>(options_.series_max);
  cache_ = std::make_unique<index::PageCache>(kPageCacheBytes);
  world_.days_folder = PathOf("days");
  world_.part_ms = options_.part_ms;
  world_.now_unix_ms = options_.now_unix_ms;
  world_.catalog = catalog_.get();
  world_.cache = cache_.get();
  world_.step = options_.step_hook;
  world_.stop = &stop_;
}

DiskStore::Impl::~Impl() {
  RefuseAppends();
  queue_.Stop();
  if (writer_.joinable()) writer_.join();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (maintainer_.joinable()) maintainer_.join();
}

base::Result<void> DiskStore::Impl::Open() {
  RETURN_IF_ERROR(MakeFolder(options_.folder));
  ASSIGN_OR_RETURN(FolderLock lock, FolderLock::Take(options_.folder));
  lock_.emplace(std::move(lock));
  RETURN_IF_ERROR(CheckFormat());
  RETURN_IF_ERROR(MakeFolder(PathOf("days")));
  RETURN_IF_ERROR(RemoveAll(PathOf("temporary")));
  for (const char* const name : {"FORMAT", "state.json", "temporary"}) {
    RETURN_IF_ERROR(RemoveAll(PathOf(name) + std::string(kAsideSuffix)));
  }
  ASSIGN_OR_RETURN(database_,
                   duck::DuckDb::Open({.temporary_folder = PathOf("temporary"),
                                       .memory_bytes_max = options_.database_memory_bytes}));
  world_.database = database_.get();
  RETURN_IF_ERROR(LoadState());
  ASSIGN_OR_RETURN(
      symbols_,
      SymbolFiles::Open({.folder = PathOf("symbols"),
                         .aside_folder = PathOf("quarantine"),
                         .now_unix_ms = options_.now_unix_ms,
                         .step = options_.step_hook,
                         .on_notice = [this](const std::string& sentence) { Notice(sentence); }}));
  repairs_ = std::make_unique<SymbolRepairs>(symbols_.get());
  world_.repairs = repairs_.get();
  RETURN_IF_ERROR(LoadVolumes());
  RefreshSpace();
  writer_ = std::thread([this] { WriteLoop(); });
  if (options_.maintenance_period_ms > 0) maintainer_ = std::thread([this] { MaintainLoop(); });
  return {};
}

base::Result<void> DiskStore::Impl::CheckFormat() {
  const std::string path = PathOf("FORMAT");
  const auto read = ReadWholeFile(path, kManifestBytesMax);
  if (!read.ok() && read.error().code() == base::ErrorCode::kNotFound) {
    ASSIGN_OR_RETURN(const auto names, ListFolder(options_.folder));
    if (!IsEmpty(names) && !Exists(PathOf("days"))) {
      return base::Error(base::ErrorCode::kInvalidInput,
                         options_.folder + " is no store: it holds other files");
    }
    return WriteFileAtomically(path, kFormatText + std::to_string(kStoreVersion) + "\n");
  }
  if (!read.ok()) return read.error();
  const std::string& text = *read;
  if (text == kFormatText + std::to_string(kStoreVersion) + "\n") return {};
  if (text.rfind(kFormatText, 0) != 0) {
    return base::Error(base::ErrorCode::kCorrupt, path + ": is not that of a store");
  }
  return base::Error(base::ErrorCode::kUnsupported,
                     options_.folder + " was written by another version of vesta: " +
                         text.substr(0, text.find('\n')) + ", this one writes " +
                         std::to_string(kStoreVersion));
}

base::Result<void> DiskStore::Impl::LoadState() {
  const std::string path = PathOf("state.json");
  const auto text = ReadWholeFile(path, kManifestBytesMax);
  if (!text.ok() && text.error().code() == base::ErrorCode::kNotFound) return {};
  if (!text.ok() && !IsDamage(text.error())) return text.error();
  auto state = text.ok() ? DecodeStoreState(*text) : base::Result<StoreState>(text.error());
  if (!state.ok() && !IsDamage(state.error())) return state.error().Context(path);
  if (!state.ok()) {
    // Only the sums of what is gone are lost with it.
    RETURN_IF_ERROR(MakeFolder(PathOf("quarantine")));
    RETURN_IF_ERROR(RenameDurably(path, PathOf("quarantine/state.json")));
    ++state_.files_quarantined;
    Notice(path + " was damaged; what it counted of days that are gone is lost");
    return WriteState(state_);
  }
  state_ = *std::move(state);
  return {};
}

base::Result<void> DiskStore::Impl::LoadVolumes() {
  ASSIGN_OR_RETURN(const auto days, ListFolder(world_.days_folder));
  std::set<VolumeId> gone;
  for (const StoreState::Volume& volume : state_.removed) gone.insert({volume.day, volume.number});
  ASSIGN_OR_RETURN(const std::set<VolumeId> replaced, ReplacedVolumes(days));
  gone.insert(replaced.begin(), replaced.end());
  for (const std::string& day_name : days) {
    const auto day = ParseDayName(day_name);
    if (!day) continue;
    const std::string day_folder = world_.days_folder + "/" + day_name;
    ASSIGN_OR_RETURN(const auto names, ListFolder(day_folder));
    for (const std::string& name : names) {
      const bool is_aside = name.ends_with(kAsideSuffix);
      const auto number =
          ParseVolumeName(name.substr(0, name.size() - (is_aside ? kAsideSuffix.size() : 0)));
      const std::string folder = day_folder + "/" + name;
      if (!number) continue;
      if (is_aside) {  // its removal was under way
        RETURN_IF_ERROR(RemoveAll(folder));
        continue;
      }
      numbers_[*day] = std::max(numbers_[*day], *number);
      if (gone.contains({*day, *number})) {
        RETURN_IF_ERROR(RemoveAll(folder));
        continue;
      }
      RETURN_IF_ERROR(LoadVolume({*day, *number}, folder));
    }
  }
  RemoveEmptyDays();
  if (!state_.removed.empty()) {
    state_.removed.clear();  // their folders are gone now
    RETURN_IF_ERROR(WriteState(state_));
  }
  for (const auto& [id, volume] : volumes_) {
    if (volume->is_closed()) continue;
    if (volume->lacks_names()) {
      closing_.push_back(volume);
      continue;
    }
    const auto [slot, is_new] = open_.try_emplace(id.day);
    if (!is_new) closing_.push_back(slot->second.volume);  // one of a day is enough
    slot->second = {volume, 0, Now(), Now()};
  }
  return {};
}

base::Result<void> DiskStore::Impl::LoadVolume(VolumeId id, const std::string& folder) {
  const auto manifest = FindManifest(id, folder);
  if (manifest.ok() && !manifest->has_value()) return RemoveAll(folder);  // it was being made
  // A volume has it from its first moment until it is closed.
  const bool lacks_hot =
      manifest.ok() && !(*manifest)->is_closed && !Exists(folder + "/" + kHotFile);
  std::vector<FoundDamage> damage;
  auto volume = manifest.ok() ? Volume::Open(world_, **manifest, &damage)
                              : base::Result<std::shared_ptr<Volume>>(manifest.error());
  if (!volume.ok() && manifest.ok() && IsDamage(volume.error()) && !(*manifest)->is_closed) {
    damage.clear();
    volume = OpenWithoutHot(volume.error(), folder, **manifest, &damage);
  }
  if (!volume.ok()) {
    // What only cannot be read now, for lack of a right or of memory, stays where it is.
    if (!IsDamage(volume.error())) return volume.error();
    return SetFolderAside(id, folder, volume.error());
  }
  volumes_[id] = *volume;
  if (lacks_hot) {
    Notice(folder + "/" + kHotFile + " is missing; what rows it had that were not sealed is lost");
  }
  if ((*volume)->lacks_names()) return SetNamelessAside(id, damage);
  Remember(std::move(damage));
  return {};
}

// Sets the hot file aside. The volume goes on with what is sealed.
base::Result<std::shared_ptr<Volume>> DiskStore::Impl::OpenWithoutHot(
    const base::Error& error, const std::string& folder, Manifest manifest,
    std::vector<FoundDamage>* damage) {
  const auto book = Volume::BookOfHot(*database_, folder);
  if (book.ok() && book->outcome.rows_kept > manifest.sealed_book.outcome.rows_kept) {
    manifest.sealed_book = *book;
    RETURN_IF_ERROR(WriteFileAtomically(folder + "/" + kManifestFile, EncodeManifest(manifest)));
  }
  RETURN_IF_ERROR(MakeFolder(PathOf("quarantine")));
  const VolumeId id = {manifest.day, manifest.number};
  const uint64_t lost_before = manifest.book.rows_quarantined;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    if (!name.starts_with(kHotFile)) continue;
    RETURN_IF_ERROR(RenameDurably(folder + "/" + name, AsidePath(id, name)));
  }
  ASSIGN_OR_RETURN(auto volume, Volume::Open(world_, std::move(manifest), damage));
  ++state_.files_quarantined;
  Notice(DayName(id.day) + ": " + kHotFile + " was damaged (" + error.message() + ") and is in " +
         PathOf("quarantine") + " now; " +
         std::to_string(volume->book().rows_quarantined - lost_before) +
         " rows that were not sealed are lost" +
         (book.ok() ? "" : ", and those that came after the last seal"));
  RETURN_IF_ERROR(WriteState(state_));
  return volume;
}

// The manifest of a volume, made anew when it was lost; nothing when the volume was never whole.
base::Result<std::optional<Manifest>> DiskStore::Impl::FindManifest(VolumeId id,
                                                                    const std::string& folder) {
  const std::string path = folder + "/" + kManifestFile;
  const auto text = ReadWholeFile(path, kManifestBytesMax);
  if (!text.ok() && !IsDamage(text.error())) return text.error();
  const bool is_missing = !text.ok() && text.error().code() == base::ErrorCode::kNotFound;
  auto decoded = text.ok() ? DecodeManifest(*text) : base::Result<Manifest>(text.error());
  if (!decoded.ok() && !IsDamage(decoded.error())) return decoded.error().Context(path);
  std::optional<Manifest> manifest;
  if (decoded.ok()) {
    manifest = *std::move(decoded);
  } else {
    auto guessed = Volume::GuessManifest(*database_, id, folder);
    if (!guessed.ok() && !IsDamage(guessed.error())) return guessed.error().Context(folder);
    if (!is_missing) {
      Notice(path + " was damaged: " + decoded.error().message());
      ++state_.files_quarantined;
      RETURN_IF_ERROR(MakeFolder(PathOf("quarantine")));
      RETURN_IF_ERROR(RenameDurably(path, AsidePath(id, kManifestFile)));
    }
    ASSIGN_OR_RETURN(manifest, std::move(guessed));
  }
  if (manifest) {
    manifest->day = id.day;
    manifest->number = id.number;
  }
  return manifest;
}

// At once, so that no answer and no count ever has them.
base::Result<void> DiskStore::Impl::SetNamelessAside(VolumeId id,
                                                     const std::vector<FoundDamage>& damage) {
  Notice(DayName(id.day) + ": " + kHotFile +
         " or its log was cut, with names that sealed rows need; this volume takes no more rows");
  for (const FoundDamage& found : damage) {
    std::vector<FoundDamage> more;
    auto repaired = Repair(found, &more);
    Remember(std::move(more));
    if (repaired.ok()) continue;
    if (repaired.error().code() != base::ErrorCode::kUnavailable) return repaired;
    Remember({found});  // the maintenance tries again
  }
  return {};
}

base::Result<void> DiskStore::Impl::SetFolderAside(VolumeId id, const std::string& folder,
                                                   const base::Error& error) {
  RETURN_IF_ERROR(MakeFolder(PathOf("quarantine")));
  const Book book = Volume::BookOfDamaged(*database_, folder);
  const std::string to = AsidePath(id, "volume");
  RETURN_IF_ERROR(RenameDurably(folder, to));
  state_.book.Add(book);
  ++state_.files_quarantined;
  Notice(DayName(id.day) + ": a volume cannot be read (" + error.message() + ") and is in " + to +
         " now");
  return WriteState(state_);
}

// Volumes that were merged into another one. They must not be looked at: their removal may have
// been under way.
base::Result<std::set<VolumeId>> DiskStore::Impl::ReplacedVolumes(
    const std::vector<std::string>& days) const {
  std::set<VolumeId> replaced;
  for (const std::string& day_name : days) {
    const auto day = ParseDayName(day_name);
    const std::string folder = world_.days_folder + "/" + day_name;
    ASSIGN_OR_RETURN(const auto names, ListFolder(folder));
    for (const std::string& name : names) {
      const std::string path = folder + "/" + name + "/" + kManifestFile;
      if (!day || !ParseVolumeName(name)) continue;
      const auto text = ReadWholeFile(path, kManifestBytesMax);
      if (!text.ok() && !IsDamage(text.error())) return text.error();
      if (!text.ok()) continue;
      const auto manifest = DecodeManifest(*text);
      if (!manifest.ok() || !manifest->is_closed) continue;
      for (const uint32_t number : manifest->replaces) replaced.insert({*day, number});
    }
  }
  return replaced;
}

base::Result<void> DiskStore::Impl::ChangeState(const std::function<void(StoreState&)>& change,
                                                const std::function<void()>& then) {
  const std::lock_guard change_lock(state_change_);
  StoreState next;
  {
    const std::lock_guard lock(mutex_);
    next = state_;
  }
  change(next);
  RETURN_IF_ERROR(WriteState(next));
  const std::lock_guard lock(mutex_);
  state_ = std::move(next);
  if (then) then();
  return {};
}

base::Result<void> DiskStore::Impl::RecordState(const std::function<void(StoreState&)>& change,
                                                const std::function<void()>& then) {
  const std::lock_guard change_lock(state_change_);
  StoreState next;
  {
    const std::lock_guard lock(mutex_);
    change(state_);
    if (then) then();
    next = state_;
  }
  return WriteState(next);
}

base::Result<void> DiskStore::Impl::WriteState(const StoreState& state) {
  world_.step("state");
  return WriteFileAtomically(PathOf("state.json"), EncodeStoreState(state));
}

std::string DiskStore::Impl::AsidePath(VolumeId id, const std::string& name) const {
  const std::string stem =
      PathOf("quarantine/" + DayName(id.day) + "-" + VolumeName(id.number) + "-" + name);
  std::string path = stem;
  for (int copy = 2; Exists(path); ++copy) path = stem + "." + std::to_string(copy);
  return path;
}

}  // namespace vesta::store
