// Appends: rows are sorted by day, numbered, and wait for the writer.
#include <algorithm>
#include <utility>

#include "src/store/batch_check.h"
#include "src/store/disk/day.h"
#include "src/store/disk/disk_store_impl.h"

namespace vesta::store {

namespace {

constexpr size_t kJobsOfGroup = 256;
constexpr auto kRoomWaitMax = std::chrono::seconds(30);
constexpr auto kSpaceAskEvery = std::chrono::milliseconds(500);

// Of what is not kept, whatever volume the rest goes to.
Book BookOfRest(const AppendOutcome& outcome) {
  Book book;
  book.outcome = outcome;
  book.outcome.rows_received = outcome.rows_duplicate + outcome.rows_too_old + outcome.rows_too_new;
  return book;
}

}  // namespace

// The rows that are to be kept, and under which labels.
struct DiskStore::Impl::Sorted {
  std::map<int64_t, std::vector<uint32_t>> rows_of_day;
  std::vector<const Labels*> series;  // of Batch::series; null = has no such row
  std::vector<uint8_t> is_overflow;
  Labels overflow = OverflowLabels();
};

base::Result<void> DiskStore::Impl::CheckAppends() {
  bool is_stale = false;
  {
    const std::lock_guard lock(mutex_);
    if (refuses_appends_) {
      return base::Error(base::ErrorCode::kUnavailable, "the store is being closed");
    }
    is_stale = std::chrono::steady_clock::now() - space_asked_ > kSpaceAskEvery;
  }
  if (is_stale) RefreshSpace();
  const std::lock_guard lock(mutex_);
  if (refuses_writes_) return base::Error(base::ErrorCode::kUnavailable, *refuses_writes_);
  return {};
}

// Sealing and closing must keep up with what comes in, since it is in memory until then.
void DiskStore::Impl::WaitForRoom() {
  if (options_.maintenance_period_ms == 0) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kRoomWaitMax, [this] {
    uint64_t rows = 0;
    for (const auto& [day, slot] : open_) rows += slot.volume->open_rows();
    for (const auto& volume : closing_) rows += volume->open_rows();
    const bool has_room = rows <= 2 * options_.part_rows_max &&
                          open_.size() + closing_.size() <= options_.open_volumes_max + 2;
    if (!has_room && !is_work_due_) {
      is_work_due_ = true;
      changed_.notify_all();
    }
    return has_room || refuses_appends_;
  });
}

DiskStore::Impl::Sorted DiskStore::Impl::SortRows(const Batch& batch, AppendOutcome* outcome) {
  Sorted sorted;
  const int64_t now = Now();
  const int64_t oldest = OldestKeptUnixMs(now, options_.retention);
  const int64_t newest = now > INT64_MAX - kDayMs ? INT64_MAX : now + kDayMs;
  int64_t day = INT64_MIN;
  std::vector<uint32_t>* rows = nullptr;
  std::set<int64_t> days_of_dropped;
  for (uint32_t at = 0; at < batch.rows.size(); ++at) {
    const int64_t time = batch.rows[at].time_unix_ms;
    if (time < oldest || time > newest) {
      ++(time < oldest ? outcome->rows_too_old : outcome->rows_too_new);
      days_of_dropped.insert(DayOf(time));
      continue;
    }
    if (rows == nullptr || DayOf(time) != day) {
      day = DayOf(time);
      rows = &sorted.rows_of_day[day];
    }
    rows->push_back(at);
  }
  if (batch.id) ExcludeCounted(*batch.id, days_of_dropped, &sorted.rows_of_day, outcome);
  std::vector<uint8_t> is_used(batch.series.size());
  for (const auto& [one, chosen] : sorted.rows_of_day) {
    for (const uint32_t at : chosen) is_used[batch.rows[at].series] = 1;
  }
  sorted.series.resize(batch.series.size());
  sorted.is_overflow.resize(batch.series.size());
  for (size_t i = 0; i < batch.series.size(); ++i) {
    if (is_used[i] == 0) continue;
    sorted.is_overflow[i] = catalog_->AdmitSeries(batch.series[i]).is_overflow ? 1 : 0;
    sorted.series[i] = &batch.series[i];
  }
  return sorted;
}

// Days that have counted the batch before do not count it again. What was dropped of it then, or
// would be dropped now, was told the first time.
void DiskStore::Impl::ExcludeCounted(const BatchId& id, const std::set<int64_t>& days_of_dropped,
                                     std::map<int64_t, std::vector<uint32_t>>* rows_of_day,
                                     AppendOutcome* outcome) {
  bool is_known = false;
  std::erase_if(*rows_of_day, [&](const auto& entry) {
    if (!IsCounted(entry.first, id, nullptr)) return false;
    outcome->rows_duplicate += entry.second.size();
    is_known = true;
    return true;
  });
  for (auto day = days_of_dropped.begin(); day != days_of_dropped.end() && !is_known; ++day) {
    is_known = IsCounted(*day, id, nullptr);
  }
  if (!is_known) return;
  outcome->rows_duplicate += std::exchange(outcome->rows_too_old, 0);
  outcome->rows_duplicate += std::exchange(outcome->rows_too_new, 0);
}

bool DiskStore::Impl::IsCounted(int64_t day, const BatchId& id, const Volume* apart_from) {
  std::vector<std::shared_ptr<Volume>> volumes;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = volumes_.lower_bound({day, 0}); at != volumes_.end() && at->first.day == day;
         ++at) {
      if (at->second.get() != apart_from) volumes.push_back(at->second);
    }
  }
  for (const auto& volume : volumes) {
    const auto counted = volume->Counted(id);
    if (!counted.ok()) {
      Remember({{volume->id(), kLedgerFile, counted.error().message()}});
    } else if (*counted) {
      return true;
    }
  }
  return false;
}

base::Result<std::shared_ptr<Volume>> DiskStore::Impl::Pin(int64_t day) {
  const auto pin = [this, day]() -> std::shared_ptr<Volume> {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(day);
    if (found == open_.end()) return nullptr;
    ++found->second.pins;
    found->second.last_append_unix_ms = Now();
    return found->second.volume;
  };
  if (auto volume = pin()) return volume;
  const std::lock_guard create_lock(create_);
  if (auto volume = pin()) return volume;
  const VolumeId id{day, NextNumber(day)};
  ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, Volume::Create(world_, id));
  const std::lock_guard lock(mutex_);
  volumes_[id] = volume;
  open_[day] = {volume, 1, Now(), Now()};
  return volume;
}

// Numbers are never given again, so that a folder that is being removed is no other's.
uint32_t DiskStore::Impl::NextNumber(int64_t day) {
  const std::lock_guard lock(mutex_);
  return ++numbers_[day];
}

void DiskStore::Impl::Unpin(const Job& job) {
  const std::lock_guard lock(mutex_);
  for (const Piece& piece : job.pieces) {
    const auto found = open_.find(piece.volume->id().day);
    if (found != open_.end() && found->second.volume == piece.volume) {
      --found->second.pins;
    } else {
      --closing_pins_[piece.volume->id()];
    }
  }
  changed_.notify_all();
}

base::Result<AppendOutcome> DiskStore::Impl::Append(const Batch& batch) {
  RETURN_IF_ERROR(CheckBatch(batch));
  RETURN_IF_ERROR(CheckAppends());
  AppendOutcome outcome = {.rows_received = batch.rows.size()};
  if (batch.rows.empty()) return outcome;
  WaitForRoom();
  const Sorted sorted = SortRows(batch, &outcome);
  std::vector<const Labels*> stored = sorted.series;
  for (size_t i = 0; i < stored.size(); ++i) {
    if (sorted.is_overflow[i] != 0) stored[i] = &sorted.overflow;
  }
  Job job;
  for (const auto& [day, chosen] : sorted.rows_of_day) {
    auto volume = Pin(day);
    if (!volume.ok()) {
      job.error = std::move(volume).error();
      break;
    }
    VolumeAppend append = {.id = batch.id ? &*batch.id : nullptr};
    append.rows = (*volume)->Encode(batch, chosen, stored);
    for (const uint32_t at : chosen) {
      append.rows_overflowed += sorted.is_overflow[batch.rows[at].series];
    }
    job.pieces.push_back({*std::move(volume), std::move(append)});
  }
  (job.pieces.empty() ? job.loose : job.pieces.front().append.book) = BookOfRest(outcome);
  if (!job.error && !queue_.Run(&job)) {
    job.error = base::Error(base::ErrorCode::kUnavailable, "the store is being closed");
  }
  Unpin(job);
  if (job.error) {
    return base::Error(base::ErrorCode::kUnavailable,
                       "the rows could not be written, try again later: " + job.error->message());
  }
  for (const Piece& piece : job.pieces) {
    const uint64_t rows = piece.append.rows.size();
    (piece.append.is_duplicate ? outcome.rows_duplicate : outcome.rows_kept) += rows;
    if (!piece.append.is_duplicate) outcome.rows_overflowed += piece.append.rows_overflowed;
  }
  return outcome;
}

void DiskStore::Impl::WriteLoop() {
  for (;;) {
    const std::vector<Job*> jobs = queue_.Take(kJobsOfGroup);
    if (jobs.empty()) return;
    WriteGroup(jobs);
    queue_.Finish();
  }
}

void DiskStore::Impl::WriteGroup(const std::vector<Job*>& jobs) {
  std::map<VolumeId, std::vector<std::pair<Job*, Piece*>>> of_volume;
  Book loose;
  for (Job* job : jobs) {
    loose.Add(job->loose);
    for (Piece& piece : job->pieces) {
      of_volume[piece.volume->id()].emplace_back(job, &piece);
      if (piece.append.id != nullptr) {
        piece.append.is_duplicate =
            IsCounted(piece.volume->id().day, *piece.append.id, piece.volume.get());
      }
    }
  }
  for (auto& [id, members] : of_volume) {
    std::vector<VolumeAppend*> appends;
    for (const auto& [job, piece] : members) appends.push_back(&piece->append);
    Volume& volume = *members.front().second->volume;
    const auto committed = volume.Commit(appends);
    if (!committed.ok()) {
      for (const auto& [job, piece] : members) job->error = committed.error();
    }
    const std::lock_guard lock(mutex_);
    ++counters_.commits;
    if (volume.open_rows() >= options_.part_rows_max && !is_work_due_) {
      is_work_due_ = true;
      changed_.notify_all();
    }
  }
  if (loose.empty()) return;
  const auto written = WriteLoose(loose);
  if (written.ok()) return;
  for (Job* job : jobs) {
    if (job->pieces.empty()) job->error = written.error();
  }
}

base::Result<void> DiskStore::Impl::WriteLoose(const Book& book) {
  const std::lock_guard lock(mutex_);
  const Book before = state_.book;
  state_.book.Add(book);
  auto written = WriteStateLocked();
  if (!written.ok()) state_.book = before;
  return written;
}

}  // namespace vesta::store
