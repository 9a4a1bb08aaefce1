// The folder is opened: locked, checked, its volumes found.
#include <algorithm>
#include <utility>

#include "src/base/byte_source.h"
#include "src/store/disk/day.h"
#include "src/store/disk/disk_store_impl.h"

namespace vesta::store {

namespace {

constexpr const char* kFormatText = "vesta store ";
constexpr size_t kPageCacheBytes = size_t{48} << 20;
constexpr size_t kManifestBytesMax = size_t{16} << 20;

bool IsEmpty(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& n) { return n == "LOCK"; });
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
  if (!options_.disk_space) options_.disk_space = DiskSpaceOf;
  if (!options_.step_hook) options_.step_hook = [](std::string_view) {};
  catalog_ = std::make_unique<Catalog>(options_.series_max);
  cache_ = std::make_unique<index::PageCache>(kPageCacheBytes);
  world_.days_folder = PathOf("days");
  world_.part_ms = options_.part_ms;
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
  ASSIGN_OR_RETURN(database_,
                   duck::DuckDb::Open({.temporary_folder = PathOf("temporary"),
                                       .memory_bytes_max = options_.database_memory_bytes}));
  world_.database = database_.get();
  RETURN_IF_ERROR(LoadState());
  RETURN_IF_ERROR(LoadVolumes());
  RefreshSpace();
  writer_ = std::thread([this] { WriteLoop(); });
  if (options_.maintenance_period_ms > 0) maintainer_ = std::thread([this] { MaintainLoop(); });
  return {};
}

base::Result<void> DiskStore::Impl::CheckFormat() {
  const std::string path = PathOf("FORMAT");
  if (!Exists(path)) {
    ASSIGN_OR_RETURN(const auto names, ListFolder(options_.folder));
    if (!IsEmpty(names) && !Exists(PathOf("days"))) {
      return base::Error(base::ErrorCode::kInvalidInput,
                         options_.folder + " is no store: it holds other files");
    }
    return WriteFileAtomically(path, kFormatText + std::to_string(kStoreVersion) + "\n");
  }
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path));
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
  if (!Exists(path)) return {};
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path, kManifestBytesMax));
  auto state = DecodeStoreState(text);
  if (!state.ok() && state.error().code() == base::ErrorCode::kUnsupported) {
    return state.error().Context(path);
  }
  if (!state.ok()) {
    // Only the sums of what is gone are lost with it.
    RETURN_IF_ERROR(MakeFolder(PathOf("quarantine")));
    RETURN_IF_ERROR(RenameDurably(path, PathOf("quarantine/state.json")));
    ++state_.files_quarantined;
    Notice(path + " was damaged; what it counted of days that are gone is lost");
    return WriteStateLocked();
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
    size_t left = 0;
    for (const std::string& name : names) {
      const auto number = ParseVolumeName(name);
      const std::string folder = day_folder + "/" + name;
      if (!number) continue;
      numbers_[*day] = std::max(numbers_[*day], *number);
      if (gone.contains({*day, *number})) {
        RETURN_IF_ERROR(RemoveAll(folder));
        continue;
      }
      RETURN_IF_ERROR(LoadVolume({*day, *number}, folder));
      ++left;
    }
    if (left == 0) RETURN_IF_ERROR(RemoveAll(day_folder));
  }
  if (!state_.removed.empty()) {
    state_.removed.clear();  // their folders are gone now
    RETURN_IF_ERROR(WriteStateLocked());
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
  const std::string path = folder + "/" + kManifestFile;
  auto manifest = [&]() -> base::Result<Manifest> {
    if (!Exists(path)) return Volume::GuessManifest(*database_, id, folder);
    ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path, kManifestBytesMax));
    auto decoded = DecodeManifest(text);
    if (decoded.ok() || decoded.error().code() == base::ErrorCode::kUnsupported) return decoded;
    Notice(path + " was damaged: " + decoded.error().message());
    ++state_.files_quarantined;
    RETURN_IF_ERROR(MakeFolder(PathOf("quarantine")));
    RETURN_IF_ERROR(RenameDurably(path, AsidePath(id, kManifestFile)));
    return Volume::GuessManifest(*database_, id, folder);
  }();
  if (!manifest.ok() && manifest.error().code() == base::ErrorCode::kNotFound) {
    return RemoveAll(folder);  // it was being made
  }
  if (!manifest.ok() && manifest.error().code() == base::ErrorCode::kUnsupported) {
    return manifest.error().Context(path);
  }
  if (manifest.ok()) {
    manifest->day = id.day;
    manifest->number = id.number;
    std::vector<FoundDamage> damage;
    auto volume = Volume::Open(world_, *std::move(manifest), &damage);
    if (volume.ok()) {
      volumes_[id] = *volume;
      if ((*volume)->lacks_names()) return SetNamelessAside(id, damage);
    }
    Remember(std::move(damage));
    if (volume.ok()) return {};
    if (volume.error().code() != base::ErrorCode::kCorrupt) return volume.error();
    return SetFolderAside(id, folder, volume.error());
  }
  return SetFolderAside(id, folder, manifest.error());
}

// At once, so that no answer and no count ever has them.
base::Result<void> DiskStore::Impl::SetNamelessAside(VolumeId id,
                                                     const std::vector<FoundDamage>& damage) {
  Notice(DayName(id.day) + ": " + kHotFile +
         " or its log was cut, with names that sealed rows need; this volume takes no more rows");
  for (const FoundDamage& found : damage) {
    auto repaired = Repair(found);
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
  return WriteStateLocked();
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
      if (!day || !ParseVolumeName(name) || !Exists(path)) continue;
      ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path, kManifestBytesMax));
      const auto manifest = DecodeManifest(text);
      if (!manifest.ok() || !manifest->is_closed) continue;
      for (const uint32_t number : manifest->replaces) replaced.insert({*day, number});
    }
  }
  return replaced;
}

base::Result<void> DiskStore::Impl::WriteStateLocked() {
  return WriteFileAtomically(PathOf("state.json"), EncodeStoreState(state_));
}

std::string DiskStore::Impl::AsidePath(VolumeId id, const std::string& name) const {
  const std::string stem =
      PathOf("quarantine/" + DayName(id.day) + "-" + VolumeName(id.number) + "-" + name);
  std::string path = stem;
  for (int copy = 2; Exists(path); ++copy) path = stem + "." + std::to_string(copy);
  return path;
}

}  // namespace vesta::store
