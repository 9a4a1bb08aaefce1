// What keeps the folder in order: seals, closes, merges, retires, verifies, repairs.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/store/disk/day.h"
#include "src/store/disk/disk_store_impl.h"

namespace vesta::store {

namespace {

// Volumes of a day are merged when none has come for so many times idle_ms.
constexpr int64_t kMergeIdleTimes = 10;
// Of memory, per row of a dictionary, roughly.
constexpr uint64_t kNodeBytes = 16;
constexpr uint64_t kFrameBytes = 100;

uint64_t DictionaryBytesOf(const Volume& volume) {
  const VolumeSnapshot snapshot =
      volume.Snapshot(volume.range(), [](TypeId, SeriesId) { return false; });
  if (snapshot.names == nullptr) return 0;
  const index::DictionaryMarks& marks = snapshot.names->file().marks();
  return marks.nodes * kNodeBytes + marks.frames * kFrameBytes;
}

bool HasRawRows(const Volume& volume) {
  const Manifest manifest = volume.manifest();
  return manifest.segments.size() == 1 && !manifest.segments.front().rows_file.empty() &&
         !manifest.segments.front().index_file.empty();
}

}  // namespace

void DiskStore::Impl::MaintainLoop() {
  const auto period = std::chrono::milliseconds(options_.maintenance_period_ms);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, period, [this] { return stop_ || is_work_due_; });
      if (stop_) return;
      is_work_due_ = false;
    }
    const std::lock_guard lock(maintenance_);
    const auto done = MaintainLocked();
    const std::lock_guard state_lock(mutex_);
    changed_.notify_all();
    if (done.ok() || stop_) {
      last_failure_.clear();
      continue;
    }
    ++counters_.maintenance_failures;
    // The same failure, once a second, is one notice.
    if (std::exchange(last_failure_, done.error().message()) != done.error().message()) {
      Notice("maintenance of the store failed and will be tried again: " + done.error().message());
    }
  }
}

base::Result<void> DiskStore::Impl::Maintain() {
  const std::lock_guard lock(maintenance_);
  return MaintainLocked();
}

base::Result<void> DiskStore::Impl::MaintainLocked() {
  RefreshSpace();
  const int64_t now = Now();
  // What frees space comes first: the rest needs some.
  RETURN_IF_ERROR(Retire(now));
  RemoveEmptyDays();
  RETURN_IF_ERROR(Repair());
  RETURN_IF_ERROR(SealDue(now));
  RETURN_IF_ERROR(FinishClosing());
  RETURN_IF_ERROR(CloseDue(now));
  RETURN_IF_ERROR(MergeDays(false));
  for (const auto& volume : AllVolumes()) {
    if (!IsOpenDay(volume->id().day)) volume->ForgetLedger();
  }
  return VerifyOne();
}

base::Result<void> DiskStore::Impl::Settle() {
  const std::lock_guard lock(maintenance_);
  RETURN_IF_ERROR(Repair());
  RETURN_IF_ERROR(FinishClosing());
  for (;;) {
    int64_t day = 0;
    {
      const std::lock_guard state_lock(mutex_);
      if (open_.empty()) break;
      day = open_.begin()->first;
    }
    RETURN_IF_ERROR(CloseDay(day));
  }
  RETURN_IF_ERROR(MergeDays(true));
  RefreshSpace();
  return Retire(Now());
}

base::Result<void> DiskStore::Impl::Seal() {
  const std::lock_guard lock(maintenance_);
  return SealDue(INT64_MAX);
}

base::Result<void> DiskStore::Impl::SealPart(Volume* volume, uint32_t part) {
  RETURN_IF_ERROR(volume->SealPart(part));
  const std::lock_guard lock(mutex_);
  ++counters_.seals;
  changed_.notify_all();  // there is room again
  return {};
}

base::Result<void> DiskStore::Impl::SealDue(int64_t now_unix_ms) {
  std::vector<std::shared_ptr<Volume>> volumes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [day, slot] : open_) volumes.push_back(slot.volume);
  }
  for (const auto& volume : volumes) {
    for (const uint32_t part : volume->PartsToSeal(now_unix_ms, options_.part_rows_max)) {
      if (stop_) return {};
      RETURN_IF_ERROR(SealPart(volume.get(), part));
    }
  }
  // Many small parts together, as when weeks are filled in.
  for (;;) {
    uint64_t rows = 0;
    for (const auto& volume : volumes) rows += volume->open_rows();
    if (rows <= options_.part_rows_max || stop_) return {};
    const auto fullest = std::max_element(
        volumes.begin(), volumes.end(),
        [](const auto& a, const auto& b) { return a->open_rows() < b->open_rows(); });
    for (const uint32_t part : (*fullest)->PartsToSeal(INT64_MAX, 0)) {
      RETURN_IF_ERROR(SealPart(fullest->get(), part));
    }
  }
}

base::Result<void> DiskStore::Impl::CloseDue(int64_t now_unix_ms) {
  std::vector<int64_t> due;
  {
    const std::lock_guard lock(mutex_);
    const int64_t today = DayOf(now_unix_ms);
    std::vector<std::pair<int64_t, int64_t>> by_age;  // last append, day
    uint64_t bytes = 0;
    for (auto& [day, slot] : open_) {
      // The clock may have gone backward.
      slot.last_append_unix_ms = std::min(slot.last_append_unix_ms, now_unix_ms);
      const bool is_idle = now_unix_ms - slot.last_append_unix_ms >= options_.idle_ms;
      const int64_t day_end = DayStartUnixMs(day + 1);
      const bool is_over =
          now_unix_ms >= day_end + options_.day_grace_ms && slot.opened_unix_ms < day_end;
      if (day != today && (is_idle || is_over)) {
        due.push_back(day);
      } else {
        by_age.emplace_back(slot.last_append_unix_ms, day);
        bytes += slot.volume->dictionary_bytes();
      }
    }
    std::sort(by_age.begin(), by_age.end());
    size_t left = by_age.size();
    for (const auto& [last_append, day] : by_age) {
      if (bytes <= options_.dictionary_bytes_max && left <= options_.open_volumes_max) break;
      bytes -= std::min<uint64_t>(bytes, open_[day].volume->dictionary_bytes());
      --left;
      due.push_back(day);
    }
  }
  for (const int64_t day : due) {
    if (stop_) return {};
    RETURN_IF_ERROR(CloseDay(day));
  }
  return {};
}

base::Result<void> DiskStore::Impl::CloseDay(int64_t day) {
  {
    std::unique_lock lock(mutex_);
    const auto found = open_.find(day);
    if (found == open_.end()) return {};
    const VolumeId id = found->second.volume->id();
    closing_.push_back(found->second.volume);
    closing_pins_[id] = found->second.pins;
    open_.erase(found);
    changed_.wait(lock, [this, id] { return closing_pins_[id] == 0; });
    closing_pins_.erase(id);
  }
  return FinishClosing();
}

base::Result<void> DiskStore::Impl::FinishClosing() {
  for (;;) {
    std::shared_ptr<Volume> volume;
    {
      const std::lock_guard lock(mutex_);
      if (closing_.empty() || stop_) return {};
      volume = closing_.front();
    }
    if (volume->rows() == 0 && volume->segment_count() == 0) {
      RETURN_IF_ERROR(RemoveVolume(volume));
    } else {
      RETURN_IF_ERROR(volume->Close());
    }
    const std::lock_guard lock(mutex_);
    closing_.erase(closing_.begin());
    closed_at_unix_ms_[volume->id().day] = Now();
    ++counters_.closes;
    changed_.notify_all();
  }
}

base::Result<void> DiskStore::Impl::MergeDays(bool at_once) {
  std::map<int64_t, std::vector<std::shared_ptr<Volume>>> days;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, volume] : volumes_) days[id.day].push_back(volume);
    for (const auto& [day, slot] : open_) days.erase(day);
    for (const auto& volume : closing_) days.erase(volume->id().day);
    for (const auto& [day, closed_at] : closed_at_unix_ms_) {
      const int64_t age = Now() - std::min(closed_at, Now());
      if (!at_once && age < kMergeIdleTimes * options_.idle_ms) days.erase(day);
    }
  }
  for (auto& [day, volumes] : days) {
    std::erase_if(volumes, [](const auto& volume) { return !HasRawRows(*volume); });
    uint64_t bytes = 0;
    for (const auto& volume : volumes) bytes += DictionaryBytesOf(*volume);
    if (volumes.size() < 2 || bytes > options_.dictionary_bytes_max) continue;
    if (stop_) return {};
    RETURN_IF_ERROR(MergeDay(day, volumes));
  }
  return {};
}

base::Result<void> DiskStore::Impl::MergeDay(int64_t day,
                                             std::vector<std::shared_ptr<Volume>> volumes) {
  const std::lock_guard create_lock(create_);
  const VolumeId id{day, NextNumber(day)};
  world_.step("merge");
  ASSIGN_OR_RETURN(std::shared_ptr<Volume> merged, Volume::Merge(world_, id, volumes));
  {
    const std::lock_guard lock(mutex_);
    for (const auto& volume : volumes) volumes_.erase(volume->id());
    volumes_[id] = merged;
  }
  world_.step("merge remove");
  for (const auto& volume : volumes) volume->RemoveLater();
  return {};
}

base::Result<void> DiskStore::Impl::Retire(int64_t now_unix_ms) {
  const std::vector<std::shared_ptr<Volume>> volumes = AllVolumes();
  std::vector<RetentionVolume> asked;
  for (const auto& volume : volumes) {
    RetentionVolume one = {.day = volume->id().day, .number = volume->id().number};
    const Manifest manifest = volume->manifest();
    one.is_open = !manifest.is_closed;
    if (const ManifestFile* rows = manifest.FindFile(kRowsFile)) one.raw_bytes = rows->bytes;
    one.other_bytes = volume->disk_bytes() - one.raw_bytes;
    asked.push_back(one);
  }
  DiskSpace space;
  {
    const std::lock_guard lock(mutex_);
    space = space_;
  }
  for (const RetentionStep& step : RetentionSteps(asked, now_unix_ms, space, options_.retention)) {
    const auto& volume = volumes[step.volume];
    if (stop_) return {};
    if (step.what == RetentionStep::What::kRawRows) {
      RETURN_IF_ERROR(volume->ExpireRows());
      continue;
    }
    if (!volume->is_closed()) RETURN_IF_ERROR(CloseDay(volume->id().day));
    if (IsKnown(volume)) RETURN_IF_ERROR(RemoveVolume(volume));
  }
  return {};
}

bool DiskStore::Impl::IsOpenDay(int64_t day) const {
  const std::lock_guard lock(mutex_);
  return open_.contains(day);
}

void DiskStore::Impl::RemoveEmptyDays() {
  const std::lock_guard create_lock(create_);
  const auto names = ListFolder(world_.days_folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const auto day = ParseDayName(name);
    if (!day) continue;
    {
      const std::lock_guard lock(mutex_);
      const auto first = volumes_.lower_bound({*day, 0});
      if (first != volumes_.end() && first->first.day == *day) continue;
    }
    // Not while a reader still holds a volume in it.
    (void)::rmdir((world_.days_folder + "/" + name).c_str());
  }
}

bool DiskStore::Impl::IsKnown(const std::shared_ptr<Volume>& volume) const {
  const std::lock_guard lock(mutex_);
  const auto found = volumes_.find(volume->id());
  return found != volumes_.end() && found->second == volume;
}

base::Result<void> DiskStore::Impl::RemoveVolume(const std::shared_ptr<Volume>& volume) {
  const std::lock_guard lock(mutex_);
  const StoreState before = state_;
  Book book = volume->book();
  book.rows_expired = book.outcome.rows_kept - book.rows_quarantined;
  state_.book.Add(book);
  state_.removed.push_back({volume->id().day, volume->id().number});
  world_.step("remove state");
  if (auto written = WriteStateLocked(); !written.ok()) {
    state_ = before;
    return written;
  }
  world_.step("remove folder");
  volumes_.erase(volume->id());
  volume->RemoveLater();
  return {};
}

void DiskStore::Impl::Remember(std::vector<FoundDamage> damage) {
  const std::lock_guard lock(mutex_);
  for (FoundDamage& found : damage) {
    const bool is_known = std::any_of(damage_.begin(), damage_.end(), [&](const FoundDamage& d) {
      return d.volume == found.volume && d.file == found.file;
    });
    if (!is_known) damage_.push_back(std::move(found));
  }
}

base::Result<void> DiskStore::Impl::Repair() {
  std::vector<FoundDamage> damage;
  {
    const std::lock_guard lock(mutex_);
    damage.swap(damage_);
  }
  for (size_t i = 0; i < damage.size(); ++i) {
    auto repaired = Repair(damage[i]);
    if (repaired.ok()) continue;
    Remember({damage.begin() + static_cast<ptrdiff_t>(i), damage.end()});
    return repaired;
  }
  return {};
}

base::Result<void> DiskStore::Impl::Repair(const FoundDamage& found) {
  std::shared_ptr<Volume> volume;
  {
    const std::lock_guard lock(mutex_);
    const auto at = volumes_.find(found.volume);
    if (at != volumes_.end()) volume = at->second;
  }
  if (volume == nullptr) return {};
  RETURN_IF_ERROR(MakeFolder(PathOf("quarantine")));
  const std::string to = AsidePath(found.volume, found.file);
  const auto repaired = volume->SetAside(found.file, to);
  if (repaired.ok()) {
    Notice(DayName(found.volume.day) + ": " + found.file + " was damaged (" + found.what +
           ") and is in " + to + " now; " + *repaired);
  } else if (repaired.error().code() == base::ErrorCode::kUnavailable) {
    return repaired.error();
  } else {
    RETURN_IF_ERROR(SetVolumeAside(volume, repaired.error()));
  }
  const std::lock_guard lock(mutex_);
  ++state_.files_quarantined;
  return WriteStateLocked();
}

// Nothing of the volume can be read any more.
base::Result<void> DiskStore::Impl::SetVolumeAside(const std::shared_ptr<Volume>& volume,
                                                   const base::Error& error) {
  const std::lock_guard lock(mutex_);
  const StoreState before = state_;
  Book book = volume->book();
  book.rows_quarantined = book.outcome.rows_kept - book.rows_expired;
  state_.book.Add(book);
  state_.removed.push_back({volume->id().day, volume->id().number});
  if (auto written = WriteStateLocked(); !written.ok()) {
    state_ = before;
    return written;
  }
  volumes_.erase(volume->id());
  const std::string to = AsidePath(volume->id(), "volume");
  RETURN_IF_ERROR(RenameDurably(volume->folder(), to));
  Notice(DayName(volume->id().day) + ": a volume cannot be read (" + error.message() +
         ") and is in " + to + " now");
  return {};
}

base::Result<void> DiskStore::Impl::VerifyOne() {
  for (const auto& volume : AllVolumes()) {
    for (const ManifestFile& file : volume->manifest().files) {
      {
        const std::lock_guard lock(mutex_);
        if (!verified_.emplace(volume->id(), file.name).second) continue;
      }
      const auto found = DescribeFile(volume->folder(), file.name, [this] { return stop_.load(); });
      if (stop_ || !IsKnown(volume) || volume->manifest().FindFile(file.name) == nullptr) return {};
      if (!found.ok() || *found != file) {
        Remember(
            {{volume->id(), file.name,
              found.ok() ? "its checksum is not that of the manifest" : found.error().message()}});
      }
      return {};
    }
  }
  return {};
}

void DiskStore::Impl::RefreshSpace() {
  const auto space = options_.disk_space(options_.folder);
  const std::lock_guard lock(mutex_);
  space_asked_ = std::chrono::steady_clock::now();
  if (!space.ok()) return;
  space_ = *space;
  refuses_writes_.reset();
  if (IsBelowReserve(space_, options_.retention)) {
    refuses_writes_ = "the disk is full: " + std::to_string(space_.free_bytes >> 20) +
                      " MiB are free at " + options_.folder +
                      "; make room, or let retention keep less";
  }
}

}  // namespace vesta::store
