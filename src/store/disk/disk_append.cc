// Appends: rows are sorted by day, numbered, and wait for the writer.
#include <algorithm>
#include <iterator>
#include <utility>

#include "src/store/batch_check.h"
#include "src/store/disk/day.h"
#include "src/store/disk/disk_store_impl.h"
#include "src/store/symbol_check.h"

namespace vesta::store {

namespace {

constexpr size_t kJobsOfGroup = 256;
// A batch of more days is appended in several steps, so that few volumes are opened at once.
constexpr ptrdiff_t kDaysAtOnce = 2;
constexpr auto kSpaceAskEvery = std::chrono::milliseconds(500);

// Of what is not kept, whatever volume the rest goes to.
Book BookOfRest(const AppendOutcome& outcome) {
  Book book;
  book.outcome = outcome;
  book.outcome.rows_received = outcome.rows_duplicate + outcome.rows_too_old + outcome.rows_too_new;
  return book;
}

base::Error RefusalOf(const Batch& batch, const AppendOutcome& outcome, const base::Error& error) {
  if (batch.id || outcome.rows_kept == 0) {
    return base::Error(base::ErrorCode::kUnavailable,
                       "the rows could not be written, try again later: " + error.message());
  }
  return base::Error(
      base::ErrorCode::kInternal,
      std::to_string(outcome.rows_kept) + " of " + std::to_string(batch.rows.size()) +
          " rows were written, those of the first days; the rest could not be: " + error.message() +
          ". Sent again, those would count twice");
}

}  // namespace

// The rows that are to be kept, and under which labels.
struct DiskStore::Impl::Sorted {
  explicit Sorted(Catalog* catalog) : held(catalog) {}
  std::map<int64_t, std::vector<uint32_t>> rows_of_day;
  std::vector<const Labels*> series;  // of Batch::series; null = has no such row
  std::vector<uint8_t> is_overflow;
  HeldSeries held;  // until volumes have them
  Labels overflow = OverflowLabels();

  // As `series`, but those that are stored without their own labels.
  std::vector<const Labels*> Stored() const {
    std::vector<const Labels*> stored = series;
    for (size_t i = 0; i < stored.size(); ++i) {
      if (is_overflow[i] != 0) stored[i] = &overflow;
    }
    return stored;
  }
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
base::Result<void> DiskStore::Impl::TakeRoom(uint64_t rows) {
  std::unique_lock lock(mutex_);
  const auto has_room = [this, rows](bool with_stuck) {
    uint64_t open = rows_under_way_;
    size_t volumes = 0;
    const auto add = [&](const Volume& volume) {
      if (!with_stuck && stuck_.contains(volume.id())) return;
      open += volume.open_rows();
      ++volumes;
    };
    for (const auto& [day, slot] : open_) add(*slot.volume);
    for (const auto& volume : closing_) add(*volume);
    // Fewer than part_rows_max rows may not be due to be sealed, so they keep nobody out.
    return (open <= options_.part_rows_max || open + rows <= 2 * options_.part_rows_max) &&
           volumes <= options_.open_volumes_max + 2;
  };
  // It is of no use to wait for what fails.
  const auto is_settled = [&] {
    if (refuses_appends_ || has_room(stuck_.empty())) return true;
    if (!std::exchange(is_work_due_, true)) changed_.notify_all();
    return false;
  };
  // Without a maintenance thread nobody makes room.
  const bool is_maintained = options_.maintenance_period_ms > 0;
  const bool is_in_time =
      !is_maintained ||
      changed_.wait_for(lock, std::chrono::milliseconds(options_.room_wait_ms), is_settled);
  if (refuses_appends_) {
    return base::Error(base::ErrorCode::kUnavailable, "the store is being closed");
  }
  if (is_maintained && !stuck_.empty() && !has_room(true)) {
    return base::Error(
        base::ErrorCode::kUnavailable,
        "too much is in memory that cannot be sealed or closed: " + stuck_.begin()->second);
  }
  if (!is_in_time) {
    return base::Error(base::ErrorCode::kUnavailable,
                       "more rows come in than are sealed: too many of them are in memory");
  }
  rows_under_way_ += rows;
  return {};
}

base::Result<void> DiskStore::Impl::SortRows(const Batch& batch, Sorted* sorted,
                                             AppendOutcome* outcome) {
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
      rows = &sorted->rows_of_day[day];
    }
    rows->push_back(at);
  }
  if (batch.id) {
    RETURN_IF_ERROR(ExcludeCounted(batch, days_of_dropped, &sorted->rows_of_day, outcome));
  }
  std::vector<uint8_t> is_used(batch.series.size());
  for (const auto& [one, chosen] : sorted->rows_of_day) {
    for (const uint32_t at : chosen) is_used[batch.rows[at].series] = 1;
  }
  sorted->series.resize(batch.series.size());
  sorted->is_overflow.resize(batch.series.size());
  for (size_t i = 0; i < batch.series.size(); ++i) {
    if (is_used[i] == 0) continue;
    sorted->is_overflow[i] = sorted->held.Admit(batch.series[i]) ? 1 : 0;
    sorted->series[i] = &batch.series[i];
  }
  return {};
}

// Days that have counted the batch before do not count it again. What was dropped of it then, or
// would be dropped now, was told the first time.
base::Result<void> DiskStore::Impl::ExcludeCounted(
    const Batch& batch, const std::set<int64_t>& days_of_dropped,
    std::map<int64_t, std::vector<uint32_t>>* rows_of_day, AppendOutcome* outcome) {
  const BatchId& id = *batch.id;
  bool is_known = false;
  for (auto entry = rows_of_day->begin(); entry != rows_of_day->end();) {
    ASSIGN_OR_RETURN(const bool is_counted,
                     IsCounted(entry->first, id, batch.has_times_of_arrival, nullptr));
    is_known = is_known || is_counted;
    if (is_counted) outcome->rows_duplicate += entry->second.size();
    entry = is_counted ? rows_of_day->erase(entry) : std::next(entry);
  }
  for (auto day = days_of_dropped.begin(); day != days_of_dropped.end() && !is_known; ++day) {
    ASSIGN_OR_RETURN(is_known, IsCounted(*day, id, batch.has_times_of_arrival, nullptr));
  }
  if (!is_known) return {};
  outcome->rows_duplicate += std::exchange(outcome->rows_too_old, 0);
  outcome->rows_duplicate += std::exchange(outcome->rows_too_new, 0);
  return {};
}

// has_times_of_arrival: it may have been of the day before when it came first.
base::Result<bool> DiskStore::Impl::IsCounted(int64_t day, const BatchId& id,
                                              bool has_times_of_arrival, const Volume* apart_from) {
  std::vector<std::shared_ptr<Volume>> volumes;
  {
    const std::lock_guard lock(mutex_);
    const int64_t first = has_times_of_arrival ? day - 1 : day;
    for (auto at = volumes_.lower_bound({first, 0}); at != volumes_.end() && at->first.day <= day;
         ++at) {
      if (at->second.get() != apart_from) volumes.push_back(at->second);
    }
  }
  for (const auto& volume : volumes) {
    const auto counted = volume->Counted(id);
    if (!counted.ok() && IsDamage(counted.error())) {
      Remember({{volume->id(), kLedgerFile, counted.error().message()}});
    } else if (!counted.ok()) {
      return base::Error(
          base::ErrorCode::kUnavailable,
          "whether the batch was counted cannot be told now: " + counted.error().message());
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
  rows_under_way_ -= job.rows;
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
  Sorted sorted(catalog_.get());
  RETURN_IF_ERROR(SortRows(batch, &sorted, &outcome));
  Book rest = BookOfRest(outcome);
  const auto end = sorted.rows_of_day.end();
  auto from = sorted.rows_of_day.begin();
  do {
    const auto to = std::next(from, std::min(kDaysAtOnce, std::distance(from, end)));
    auto appended = AppendDays(batch, sorted, from, to, &rest, &outcome);
    if (!appended.ok()) return RefusalOf(batch, outcome, appended.error());
    from = to;
  } while (from != end);
  return outcome;
}

// `rest` is emptied when it was written with them.
base::Result<void> DiskStore::Impl::AppendDays(const Batch& batch, const Sorted& sorted,
                                               DayRows::const_iterator from,
                                               DayRows::const_iterator to, Book* rest,
                                               AppendOutcome* outcome) {
  Job job;
  job.rest = *rest;
  for (auto day = from; day != to; ++day) job.rows += day->second.size();
  RETURN_IF_ERROR(TakeRoom(job.rows));
  const std::vector<const Labels*> stored = sorted.Stored();
  for (auto day = from; day != to; ++day) {
    auto volume = Pin(day->first);
    if (!volume.ok()) {
      job.error = std::move(volume).error();
      break;
    }
    VolumeAppend append = {.id = batch.id ? &*batch.id : nullptr,
                           .has_times_of_arrival = batch.has_times_of_arrival};
    append.rows = (*volume)->Encode(batch, day->second, stored);
    for (const uint32_t at : day->second) {
      append.rows_overflowed += sorted.is_overflow[batch.rows[at].series];
    }
    job.pieces.push_back({*std::move(volume), std::move(append)});
  }
  if (!job.error && !queue_.Run(&job)) {
    job.error = base::Error(base::ErrorCode::kUnavailable, "the store is being closed");
  }
  Unpin(job);
  for (const Piece& piece : job.pieces) {
    if (!piece.is_written) continue;
    const uint64_t rows = piece.append.rows.size();
    (piece.append.is_duplicate ? outcome->rows_duplicate : outcome->rows_kept) += rows;
    if (!piece.append.is_duplicate) outcome->rows_overflowed += piece.append.rows_overflowed;
  }
  *rest = job.rest;
  if (job.error) return *std::move(job.error);
  return {};
}

base::Result<SymbolsOutcome> DiskStore::Impl::AppendSymbols(const SymbolBatch& batch) {
  RETURN_IF_ERROR(CheckSymbols(batch));
  RETURN_IF_ERROR(CheckAppends());
  return symbols_->Append(batch);
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
    if (job->pieces.empty()) loose.Add(job->rest);
    for (Piece& piece : job->pieces) of_volume[piece.volume->id()].emplace_back(job, &piece);
  }
  for (const auto& [id, members] : of_volume) WritePieces(members);
  if (loose.empty()) return;
  const auto written = WriteLoose(loose);
  if (written.ok()) return;
  for (Job* job : jobs) {
    if (job->pieces.empty()) job->error = written.error();
  }
}

// Those of one volume.
void DiskStore::Impl::WritePieces(std::span<const std::pair<Job*, Piece*>> members) {
  Volume& volume = *members.front().second->volume;
  std::vector<VolumeAppend*> appends;
  std::vector<std::pair<Job*, Piece*>> chosen;
  for (const auto& [job, piece] : members) {
    VolumeAppend& append = piece->append;
    if (append.id != nullptr) {
      // Only now: another volume of the day may have got the same batch in this group.
      const auto counted =
          IsCounted(volume.id().day, *append.id, append.has_times_of_arrival, &volume);
      if (!counted.ok()) {
        job->error = counted.error();
        continue;
      }
      append.is_duplicate = *counted;
    }
    append.book = std::exchange(job->rest, {});
    appends.push_back(&append);
    chosen.emplace_back(job, piece);
  }
  if (appends.empty()) return;
  const auto committed = volume.Commit(appends);
  for (const auto& [job, piece] : chosen) {
    piece->is_written = committed.ok();
    if (committed.ok()) continue;
    job->error = committed.error();
    job->rest = piece->append.book;
  }
  const std::lock_guard lock(mutex_);
  ++counters_.commits;
  if (volume.open_rows() >= options_.part_rows_max && !is_work_due_) {
    is_work_due_ = true;
    changed_.notify_all();
  }
}

base::Result<void> DiskStore::Impl::WriteLoose(const Book& book) {
  return ChangeState([&book](StoreState& state) { state.book.Add(book); });
}

}  // namespace vesta::store
