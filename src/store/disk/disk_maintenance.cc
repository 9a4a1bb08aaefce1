// What keeps the folder in order: seals, closes, merges, retires; disk_repair.cc has the rest.
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
// What the database spills of a row that it sorts.
constexpr uint64_t kSpillRowBytes = 48;
// Steps that appends wait for.
constexpr std::string_view kSealStep = "seal";
constexpr std::string_view kCloseStep = "close";

uint64_t DictionaryBytesOf(const Volume& volume) {
  const VolumeSnapshot snapshot =
      volume.Snapshot(volume.range(), [](TypeId, SeriesId) { return false; });
  if (snapshot.names == nullptr) return 0;
  const index::DictionaryMarks& marks = snapshot.names->file().marks();
  return marks.nodes * kNodeBytes + marks.frames * kFrameBytes;
}

bool HasRawRows(const Volume& volume) {
  const Manifest manifest = volume.manifest();
  return manifest.is_closed && manifest.segments.size() == 1 &&
         !manifest.segments.front().rows_file.empty() &&
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
    (void)MaintainLocked().ok();
    for (const std::string& failure : round_.to_tell) {
      Notice("maintenance of the store failed and will be tried again: " + failure);
    }
    const std::lock_guard state_lock(mutex_);
    changed_.notify_all();
  }
}

base::Result<void> DiskStore::Impl::Maintain() {
  const std::lock_guard lock(maintenance_);
  return MaintainLocked();
}

base::Result<void> DiskStore::Impl::MaintainLocked() {
  round_ = {};
  RefreshSpace();
  const int64_t now = Now();
  // What frees space comes first: the rest needs some.
  Retire(now);
  RemoveEmptyDays();
  Repair();
  SealDue(now);
  FinishClosing();
  CloseDue(now);
  MergeDays();
  for (const auto& volume : AllVolumes()) {
    if (!IsOpenDay(volume->id().day)) volume->ForgetLedger();
  }
  VerifyOne();
  ForgetGone();
  return FirstError();
}

base::Result<void> DiskStore::Impl::Settle() {
  const std::lock_guard lock(maintenance_);
  round_ = {.at_once = true};
  Repair();
  FinishClosing();
  for (const auto& volume : OpenVolumes()) CloseDay(volume->id().day);
  MergeDays();
  RefreshSpace();
  Retire(Now());
  return FirstError();
}

base::Result<void> DiskStore::Impl::Seal() {
  const std::lock_guard lock(maintenance_);
  round_ = {.at_once = true};
  SealDue(INT64_MAX);
  return FirstError();
}

void DiskStore::Impl::Try(const Step& step, const std::function<base::Result<void>()>& run) {
  if (stop_ || (!round_.at_once && !back_off_.IsDue(step, Now()))) return;
  const auto done = run();
  const bool makes_room = step.name == kSealStep || step.name == kCloseStep;
  if (done.ok()) {
    const std::lock_guard lock(mutex_);
    if (makes_room) stuck_.erase(step.volume);
    return back_off_.Succeed(step);
  }
  if (stop_) return;  // it ended early
  if (!round_.first_error) round_.first_error = done.error();
  if (back_off_.Fail(step, done.error(), Now())) round_.to_tell.push_back(done.error().message());
  const std::lock_guard lock(mutex_);
  ++counters_.maintenance_failures;
  if (!makes_room) return;
  stuck_[step.volume] = done.error().message();
  changed_.notify_all();
}

base::Result<void> DiskStore::Impl::FirstError() {
  if (round_.first_error) return *round_.first_error;
  return {};
}

// Makes something of files that must be good. What is wrong with one of them is found out at once:
// it would fail again otherwise, for ever.
base::Result<void> DiskStore::Impl::Make(const std::vector<std::shared_ptr<Volume>>& from,
                                         const std::function<base::Result<void>()>& make) {
  auto made = make();
  if (made.ok()) return made;
  for (const auto& volume : from) {
    volume->RemoveAsides();
    if (!IsDamage(made.error())) continue;
    auto found = volume->VerifyAll();
    if (found.ok()) Remember(*std::move(found));
  }
  return made;
}

base::Result<void> DiskStore::Impl::SealParts(const std::shared_ptr<Volume>& volume,
                                              const std::vector<uint32_t>& parts) {
  return Make({volume}, [&]() -> base::Result<void> {
    // The database's own limit is from when it first spilled: the disk may have been full then.
    const auto space = options_.disk_space(options_.folder);
    if (space.ok() && space->total_bytes != 0) {
      RETURN_IF_ERROR(database_->LimitSpill(space->free_bytes));
    }
    for (const uint32_t part : parts) {
      if (stop_) return {};
      RETURN_IF_ERROR(volume->SealPart(part));
      const std::lock_guard lock(mutex_);
      ++counters_.seals;
      changed_.notify_all();  // there is room again
    }
    return {};
  });
}

// An hour that is over and still gets rows waits, so that late ones make no file each.
std::vector<uint32_t> DiskStore::Impl::PartsDue(const Volume& volume, int64_t now_unix_ms) {
  std::vector<uint32_t> parts = volume.PartsToSeal(now_unix_ms, options_.part_rows_max);
  if (round_.at_once) return parts;
  std::erase_if(parts, [&](uint32_t part) {
    const uint64_t rows = volume.part_rows(part);
    const auto [at, is_new] = grown_.try_emplace({volume.id(), part}, Grown{rows, now_unix_ms});
    Grown& grown = at->second;
    if (grown.rows != rows) grown = {rows, now_unix_ms};
    grown.since_unix_ms = std::min(grown.since_unix_ms, now_unix_ms);  // the clock went backward
    return rows < options_.part_rows_max &&
           now_unix_ms - grown.since_unix_ms < options_.seal_idle_ms;
  });
  return parts;
}

void DiskStore::Impl::SealDue(int64_t now_unix_ms) {
  std::vector<std::shared_ptr<Volume>> volumes = OpenVolumes();
  for (const auto& volume : volumes) {
    const std::vector<uint32_t> parts = PartsDue(*volume, now_unix_ms);
    if (!parts.empty())
      Try({volume->id(), std::string(kSealStep)}, [&] { return SealParts(volume, parts); });
  }
  std::erase_if(grown_, [&volumes](const auto& grown) {
    return std::none_of(volumes.begin(), volumes.end(), [&grown](const auto& volume) {
      return volume->id() == grown.first.first && volume->part_rows(grown.first.second) > 0;
    });
  });
  // Many small parts together, as when weeks are filled in.
  std::sort(volumes.begin(), volumes.end(),
            [](const auto& a, const auto& b) { return a->open_rows() > b->open_rows(); });
  uint64_t rows = 0;
  for (const auto& volume : volumes) rows += volume->open_rows();
  for (const auto& volume : volumes) {
    if (rows <= options_.part_rows_max || volume->open_rows() == 0) return;
    rows -= std::min<uint64_t>(rows, volume->open_rows());
    Try({volume->id(), std::string(kSealStep)},
        [&] { return SealParts(volume, volume->PartsToSeal(INT64_MAX, 0)); });
  }
}

void DiskStore::Impl::CloseDue(int64_t now_unix_ms) {
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
    if (!stop_) CloseDay(day);
  }
}

void DiskStore::Impl::CloseDay(int64_t day) {
  std::shared_ptr<Volume> volume;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(day);
    if (found == open_.end()) return;
    volume = found->second.volume;
  }
  TakeOut(volume);
  Try({volume->id(), std::string(kCloseStep)}, [&] { return Close(volume); });
}

// Rows go to another volume from now on. Returns when none is under way to this one.
void DiskStore::Impl::TakeOut(const std::shared_ptr<Volume>& volume) {
  const VolumeId id = volume->id();
  std::unique_lock lock(mutex_);
  const auto found = open_.find(id.day);
  if (found == open_.end() || found->second.volume != volume) return;
  closing_.push_back(volume);
  closing_pins_[id] = found->second.pins;
  open_.erase(found);
  changed_.wait(lock, [this, id] { return closing_pins_[id] == 0; });
  closing_pins_.erase(id);
}

void DiskStore::Impl::FinishClosing() {
  std::vector<std::shared_ptr<Volume>> volumes;
  {
    const std::lock_guard lock(mutex_);
    volumes = closing_;
  }
  for (const auto& volume : volumes) {
    Try({volume->id(), std::string(kCloseStep)}, [&] { return Close(volume); });
  }
}

base::Result<void> DiskStore::Impl::Close(const std::shared_ptr<Volume>& volume) {
  if (volume->rows() == 0 && volume->segment_count() == 0) return RemoveVolume(volume);
  RETURN_IF_ERROR(SealParts(volume, volume->PartsToSeal(INT64_MAX, 0)));
  RETURN_IF_ERROR(CheckRoom({volume}, "closing"));
  std::vector<FoundDamage> damage;
  auto closed = Make({volume}, [&] { return volume->Close(&damage); });
  Remember(std::move(damage));
  RETURN_IF_ERROR(std::move(closed));
  const std::lock_guard lock(mutex_);
  std::erase(closing_, volume);
  closed_at_unix_ms_[volume->id().day] = Now();
  ++counters_.closes;
  changed_.notify_all();
  return {};
}

// What is made of these volumes, and what the database spills meanwhile, must leave the reserve.
base::Result<void> DiskStore::Impl::CheckRoom(const std::vector<std::shared_ptr<Volume>>& volumes,
                                              const std::string& what) {
  uint64_t rows = 0;
  uint64_t needed = 0;
  for (const auto& volume : volumes) {
    rows += volume->rows();
    needed += volume->dictionary_bytes();
    for (const ManifestFile& file : volume->manifest().files) needed += file.bytes;
  }
  const auto space = options_.disk_space(options_.folder);
  if (!space.ok() || space->total_bytes == 0) return {};
  const uint64_t reserve = ReserveBytes(*space, options_.retention);
  const uint64_t free = space->free_bytes - std::min(space->free_bytes, reserve);
  const uint64_t spill_max = free - std::min(free, needed);
  const uint64_t spilled = rows * kSpillRowBytes;
  if (spilled > options_.database_memory_bytes) needed += spilled;
  if (needed > free) {
    return base::Error(base::ErrorCode::kUnavailable,
                       what + " " + DayName(volumes.front()->id().day) + " takes " +
                           std::to_string((needed >> 20) + 1) + " MiB, and only " +
                           std::to_string(free >> 20) + " MiB are free at " + options_.folder +
                           " beside the reserve");
  }
  return database_->LimitSpill(spill_max);
}

// The smallest ones of each day that together stay within the budget; a single one if names came
// late for it, so that they are in its files.
void DiskStore::Impl::MergeDays() {
  std::map<int64_t, std::vector<std::shared_ptr<Volume>>> days;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, volume] : volumes_) days[id.day].push_back(volume);
    for (const auto& [day, slot] : open_) days.erase(day);
    for (const auto& volume : closing_) days.erase(volume->id().day);
    for (const auto& [day, closed_at] : closed_at_unix_ms_) {
      const int64_t age = Now() - std::min(closed_at, Now());
      if (!round_.at_once && age < kMergeIdleTimes * options_.idle_ms) days.erase(day);
    }
  }
  for (auto& [day, volumes] : days) {
    std::vector<std::pair<uint64_t, std::shared_ptr<Volume>>> by_bytes;
    for (const auto& volume : volumes) {
      if (HasRawRows(*volume)) by_bytes.emplace_back(DictionaryBytesOf(*volume), volume);
    }
    std::sort(by_bytes.begin(), by_bytes.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second->id()) < std::pair(b.first, b.second->id());
    });
    uint64_t bytes = 0;
    std::vector<std::shared_ptr<Volume>> chosen;
    for (const auto& [theirs, volume] : by_bytes) {
      bytes += theirs;
      if (bytes <= options_.dictionary_bytes_max) chosen.push_back(volume);
    }
    const bool is_worth_it =
        chosen.size() > 1 || (chosen.size() == 1 && HasLateNames(*chosen.front()));
    if (!is_worth_it) continue;
    Try({{day, 0}, "merge"}, [&, day = day] { return MergeDay(day, chosen); });
  }
}

base::Result<void> DiskStore::Impl::MergeDay(int64_t day,
                                             const std::vector<std::shared_ptr<Volume>>& volumes) {
  RETURN_IF_ERROR(CheckRoom(volumes, "merging"));
  const VolumeId id{day, NextNumber(day)};
  world_.step("merge");
  std::shared_ptr<Volume> merged;
  std::vector<FoundDamage> damage;
  auto made = Make(volumes, [&]() -> base::Result<void> {
    ASSIGN_OR_RETURN(merged, Volume::Merge(world_, id, volumes, &damage));
    return {};
  });
  Remember(std::move(damage));
  RETURN_IF_ERROR(std::move(made));
  {
    const std::lock_guard lock(mutex_);
    for (const auto& volume : volumes) volumes_.erase(volume->id());
    volumes_[id] = merged;
  }
  world_.step("merge remove");
  for (const auto& volume : volumes) {
    volume->RemoveLater();
    back_off_.Forget(volume->id());
  }
  return {};
}

// Whether the volume's files show other names than are known by now.
bool DiskStore::Impl::HasLateNames(const Volume& volume) {
  const VolumeSnapshot snapshot =
      volume.Snapshot(volume.range(), [](TypeId, SeriesId) { return false; });
  if (snapshot.names == nullptr) return false;
  const index::VolumeReader reader(snapshot.names->file());
  const auto has_late = repairs_->HasLateNames(snapshot.NamesBy(&reader));
  return has_late.ok() && *has_late;
}

std::vector<std::shared_ptr<Volume>> DiskStore::Impl::OpenVolumes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Volume>> volumes;
  for (const auto& [day, slot] : open_) volumes.push_back(slot.volume);
  return volumes;
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
    if (::rmdir((world_.days_folder + "/" + name).c_str()) != 0) continue;
    const std::lock_guard lock(mutex_);
    numbers_.erase(*day);
    closed_at_unix_ms_.erase(*day);
  }
}

bool DiskStore::Impl::IsKnown(const std::shared_ptr<Volume>& volume) const {
  const std::lock_guard lock(mutex_);
  const auto found = volumes_.find(volume->id());
  return found != volumes_.end() && found->second == volume;
}

base::Result<void> DiskStore::Impl::RemoveVolume(const std::shared_ptr<Volume>& volume) {
  Book book = volume->book();
  book.rows_expired = book.outcome.rows_kept - book.rows_quarantined;
  world_.step("remove state");
  RETURN_IF_ERROR(ChangeState(
      [&](StoreState& state) {
        state.book.Add(book);
        state.removed.push_back({volume->id().day, volume->id().number});
      },
      [&] { ForgetLocked(volume); }));
  world_.step("remove folder");
  volume->RemoveLater();
  return {};
}

void DiskStore::Impl::ForgetLocked(const std::shared_ptr<Volume>& volume) {
  volumes_.erase(volume->id());
  std::erase(closing_, volume);
  stuck_.erase(volume->id());
  back_off_.Forget(volume->id());
  changed_.notify_all();
}

void DiskStore::Impl::RefreshSpace() {
  // What goes in between counts twice, so nothing is removed for it.
  const uint64_t doomed_bytes = world_.doomed_bytes;
  const auto space = options_.disk_space(options_.folder);
  const std::lock_guard lock(mutex_);
  doomed_bytes_ = doomed_bytes;
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
