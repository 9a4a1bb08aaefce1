// What goes: by age, by bytes, by the fullness of the disk; and what is only remembered of it.
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "src/store/disk/day.h"
#include "src/store/disk/disk_store_impl.h"

namespace vesta::store {

namespace {

// Of what the store may have, at least.
constexpr uint64_t kSymbolShare = 64;
constexpr uint64_t kSymbolBytesMin = uint64_t{16} << 20;

std::string MiB(uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

// What the policy asks of a volume. The hot file of an open one is none of it: it is of a size of
// its own, and gone when the day is closed.
RetentionVolume Described(const Volume& volume) {
  const Manifest manifest = volume.manifest();
  RetentionVolume described = {.day = manifest.day, .number = manifest.number};
  described.is_open = !manifest.is_closed;
  for (const ManifestFile& file : manifest.files) {
    (file.name == kRowsFile ? described.raw_bytes : described.other_bytes) += file.bytes;
  }
  return described;
}

uint64_t FullPercent(const DiskSpace& space) {
  const uint64_t used = space.total_bytes - std::min(space.free_bytes, space.total_bytes);
  return static_cast<uint64_t>(100.0 * static_cast<double>(used) /
                               static_cast<double>(space.total_bytes));
}

}  // namespace

void DiskStore::Impl::Retire(int64_t now_unix_ms) {
  const std::vector<std::shared_ptr<Volume>> volumes = AllVolumes();
  std::vector<RetentionVolume> asked;
  int64_t newest_unix_ms = INT64_MIN;
  for (const auto& volume : volumes) {
    asked.push_back(Described(*volume));
    newest_unix_ms = std::max(newest_unix_ms, volume->range().to_unix_ms);
  }
  const int64_t time = age_clock_.Time(now_unix_ms, options_.steady_ms(), newest_unix_ms);
  RemoveAsides(time);
  RetireSymbols(time);
  DiskSpace space;
  uint64_t beside_bytes = symbols_->status().disk_bytes;
  {
    const std::lock_guard lock(mutex_);
    space = space_;
    space.free_bytes += doomed_bytes_;
    beside_bytes += aside_bytes_;
  }
  const RetentionPlan plan = PlanRetention(asked, beside_bytes, time, space, options_.retention);
  if (!std::exchange(is_full_by_others_, plan.is_full_by_others) && is_full_by_others_) {
    Notice("the disk is " + std::to_string(FullPercent(space)) + " % full at " + options_.folder +
           ", mostly by other files: to remove all single rows of the store would not help, so "
           "they stay; make room");
  }
  for (const RetentionStep& step : plan.steps) {
    const auto& volume = volumes[step.volume];
    Try({volume->id(), "retire"}, [&] { return Retire(volume, step); });
  }
}

base::Result<void> DiskStore::Impl::Retire(const std::shared_ptr<Volume>& volume,
                                           const RetentionStep& step) {
  const bool is_whole = step.what == RetentionStep::What::kWhole;
  const RetentionVolume described = Described(*volume);
  if (is_whole) {
    TakeOut(volume);
    RETURN_IF_ERROR(RemoveVolume(volume));
  } else {
    RETURN_IF_ERROR(volume->ExpireRows());
  }
  if (step.why == RetentionStep::Why::kAge) return {};
  const std::string what =
      is_whole
          ? "all of the day was removed (" + MiB(described.raw_bytes + described.other_bytes) + ")"
          : "single rows were removed (" + MiB(described.raw_bytes) + "), sums are kept";
  Notice(DayName(volume->id().day) + ": " + what +
         (step.why == RetentionStep::Why::kBytes
              ? "; the store was larger than " + MiB(options_.retention.bytes_max)
              : "; the disk was more than " +
                    std::to_string(static_cast<int>(options_.retention.disk_full_share * 100)) +
                    " % full"));
  return {};
}

// Names that came late are needed as long as the rows that were there when they came, which may be
// of a day ahead.
void DiskStore::Impl::RetireSymbols(int64_t now_unix_ms) {
  const int64_t oldest = OldestKeptUnixMs(now_unix_ms, options_.retention);
  const uint64_t bytes_max = std::max(kSymbolBytesMin, options_.retention.bytes_max / kSymbolShare);
  Try({{0, 0}, "symbols"}, [&]() -> base::Result<void> {
    const uint64_t asides = symbols_->status().files_quarantined;
    if (asides != symbol_asides_) {
      const uint64_t fresh = asides - std::exchange(symbol_asides_, asides);
      RETURN_IF_ERROR(
          RecordState([fresh](StoreState& state) { state.files_quarantined += fresh; }));
    }
    return symbols_->Maintain(oldest < INT64_MIN + 2 * kDayMs ? INT64_MIN : oldest - 2 * kDayMs,
                              bytes_max);
  });
}

void DiskStore::Impl::ListAsides() {
  asides_.clear();
  uint64_t bytes = 0;
  const auto names = ListFolder(PathOf("quarantine"));
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const std::string path = PathOf("quarantine/" + name);
    struct stat status = {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    AsideFile file;
    file.day = ParseDayName(name.substr(0, DayName(0).size()));
    file.bytes = S_ISDIR(status.st_mode) ? BytesBelow(path) : static_cast<uint64_t>(status.st_size);
    // A rename changes it.
    file.since_unix_ms =
        status.st_ctim.tv_sec * int64_t{1'000} + status.st_ctim.tv_nsec / 1'000'000;
    bytes += file.bytes;
    asides_.push_back({name, file});
  }
  const std::lock_guard lock(mutex_);
  aside_bytes_ = bytes;
  asides_seen_ = state_.files_quarantined;
}

void DiskStore::Impl::RemoveAsides(int64_t now_unix_ms) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = asides_seen_ != state_.files_quarantined;
  }
  if (is_new) ListAsides();
  std::vector<AsideFile> files;
  for (const Aside& aside : asides_) files.push_back(aside.file);
  const std::vector<size_t> gone = AsidesToRemove(files, now_unix_ms, options_.retention);
  for (const size_t at : gone) {
    const std::string path = PathOf("quarantine/" + asides_[at].name);
    Try({{0, 0}, "remove", asides_[at].name}, [&]() -> base::Result<void> {
      RETURN_IF_ERROR(RemoveAll(path));
      Notice(path + " was removed (" + MiB(asides_[at].file.bytes) +
             "): what is set aside is kept as long as rows are, and up to a tenth of the store");
      return {};
    });
  }
  if (!gone.empty()) ListAsides();
}

// What is remembered of volumes goes some time after them.
void DiskStore::Impl::ForgetGone() {
  std::vector<StoreState::Volume> gone;
  std::vector<StoreState::Volume> removed;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(verified_, [this](const auto& file) { return !volumes_.contains(file.first); });
    repairs_->Keep([this](VolumeId id) { return volumes_.contains(id); });
    removed = state_.removed;
  }
  for (const StoreState::Volume& volume : removed) {
    const std::string day = world_.days_folder + "/" + DayName(volume.day);
    if (Exists(day + "/" + VolumeName(volume.number))) continue;
    // It must not come back after a loss of power, since its rows are in the book of what is gone.
    if (SyncFolder(Exists(day) ? day : world_.days_folder).ok()) gone.push_back(volume);
  }
  if (gone.empty()) return;
  Try({{0, 0}, "forget"}, [&]() -> base::Result<void> {
    return ChangeState([&gone](StoreState& state) {
      std::erase_if(state.removed, [&gone](const StoreState::Volume& volume) {
        return std::find(gone.begin(), gone.end(), volume) != gone.end();
      });
    });
  });
}

}  // namespace vesta::store
