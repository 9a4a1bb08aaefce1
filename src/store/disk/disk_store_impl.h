// The inside of DiskStore: which volumes there are, who writes, who maintains.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/store/disk/answers.h"
#include "src/store/disk/back_off.h"
#include "src/store/disk/catalog.h"
#include "src/store/disk/disk_store.h"
#include "src/store/disk/files.h"
#include "src/store/disk/group_queue.h"
#include "src/store/disk/manifest.h"
#include "src/store/disk/volume.h"

namespace vesta::store {

// Locks, in the order in which they are taken: maintenance_ (one at a time does maintenance),
// create_ (one at a time makes a volume), state_change_ (one at a time changes and writes state_),
// mutex_ (all the rest; no file is written under it), those of a volume.
class DiskStore::Impl {
 public:
  explicit Impl(DiskStoreOptions options);
  ~Impl();
  base::Result<void> Open();

  base::Result<AppendOutcome> Append(const Batch& batch);
  base::Result<SymbolsOutcome> AppendSymbols(const SymbolBatch& batch);
  Catalog& catalog() { return *catalog_; }
  StoreStatus Status() const;
  DiskStoreStatus disk_status() const;
  void RefuseAppends();
  base::Result<void> Maintain();
  base::Result<void> Seal();
  base::Result<void> Settle();

  // Runs a read over the volumes that may have rows in the range.
  template <typename Read>
  auto Ask(TimeRange range, ReadReport* report, const Read& read) {
    Answers answers(VolumesIn(range), *database_, repairs_.get(), report);
    auto result = read(answers);
    symbols_->NoteDamage(answers.view());
    Remember(answers.TakeDamage());
    return result;
  }

 private:
  // --- appends (disk_append.cc) ---
  struct OpenSlot {
    std::shared_ptr<Volume> volume;
    uint32_t pins = 0;  // appends under way; a volume is closed without any
    int64_t opened_unix_ms = 0;
    int64_t last_append_unix_ms = 0;
  };
  struct Piece {
    std::shared_ptr<Volume> volume;
    VolumeAppend append;
    bool is_written = false;
  };
  struct Job {
    std::vector<Piece> pieces;
    Book rest;          // of rows that belong to no volume: goes with a piece that is written
    uint64_t rows = 0;  // that room was taken for
    std::optional<base::Error> error;
  };
  struct Sorted;

  base::Result<void> CheckAppends();
  // Of appends under way; Unpin gives it back.
  base::Result<void> TakeRoom(uint64_t rows);
  base::Result<void> SortRows(const Batch& batch, Sorted* sorted, AppendOutcome* outcome);
  base::Result<void> ExcludeCounted(const Batch& batch, const std::set<int64_t>& days_of_dropped,
                                    std::map<int64_t, std::vector<uint32_t>>* rows_of_day,
                                    AppendOutcome* outcome);
  using DayRows = std::map<int64_t, std::vector<uint32_t>>;
  base::Result<void> AppendDays(const Batch& batch, const Sorted& sorted,
                                DayRows::const_iterator from, DayRows::const_iterator to,
                                Book* rest, AppendOutcome* outcome);
  base::Result<std::shared_ptr<Volume>> Pin(int64_t day);
  void Unpin(const Job& job);
  uint32_t NextNumber(int64_t day);  // create_ held
  // Errors: Unavailable when that cannot be told now.
  base::Result<bool> IsCounted(int64_t day, const BatchId& id, bool has_times_of_arrival,
                               const Volume* apart_from);
  void WriteLoop();
  void WriteGroup(const std::vector<Job*>& jobs);
  void WritePieces(std::span<const std::pair<Job*, Piece*>> members);
  base::Result<void> WriteLoose(const Book& book);

  // --- opening (disk_open.cc) ---
  base::Result<void> CheckFormat();
  base::Result<void> LoadState();
  base::Result<void> LoadVolumes();
  base::Result<void> LoadVolume(VolumeId id, const std::string& folder);
  base::Result<std::shared_ptr<Volume>> OpenWithoutHot(const base::Error& error,
                                                       const std::string& folder, Manifest manifest,
                                                       std::vector<FoundDamage>* damage);
  base::Result<std::optional<Manifest>> FindManifest(VolumeId id, const std::string& folder);
  base::Result<void> SetNamelessAside(VolumeId id, const std::vector<FoundDamage>& damage);
  base::Result<std::set<VolumeId>> ReplacedVolumes(const std::vector<std::string>& days) const;
  base::Result<void> SetFolderAside(VolumeId id, const std::string& folder,
                                    const base::Error& error);

  // --- maintenance (disk_maintenance.cc); maintenance_ is held by all ---
  struct Round {
    bool at_once = false;  // whether it is due or not
    std::optional<base::Error> first_error = {};
    std::vector<std::string> to_tell = {};
  };
  struct Grown {
    uint64_t rows = 0;
    int64_t since_unix_ms = 0;
  };
  // Runs a step, unless it failed a short while ago. What fails is remembered in round_ and
  // back_off_, and keeps no other volume from being looked after.
  void Try(const Step& step, const std::function<base::Result<void>()>& run);
  base::Result<void> FirstError();
  base::Result<void> Make(const std::vector<std::shared_ptr<Volume>>& from,
                          const std::function<base::Result<void>()>& make);
  void MaintainLoop();
  base::Result<void> MaintainLocked();
  void SealDue(int64_t now_unix_ms);
  std::vector<uint32_t> PartsDue(const Volume& volume, int64_t now_unix_ms);
  base::Result<void> SealParts(const std::shared_ptr<Volume>& volume,
                               const std::vector<uint32_t>& parts);
  void CloseDue(int64_t now_unix_ms);
  void CloseDay(int64_t day);
  void TakeOut(const std::shared_ptr<Volume>& volume);
  void FinishClosing();
  base::Result<void> Close(const std::shared_ptr<Volume>& volume);
  base::Result<void> CheckRoom(const std::vector<std::shared_ptr<Volume>>& volumes,
                               const std::string& what);
  void MergeDays();
  base::Result<void> MergeDay(int64_t day, const std::vector<std::shared_ptr<Volume>>& volumes);
  std::vector<std::shared_ptr<Volume>> OpenVolumes() const;
  base::Result<void> RemoveVolume(const std::shared_ptr<Volume>& volume);
  void ForgetLocked(const std::shared_ptr<Volume>& volume);  // mutex_ held
  bool IsOpenDay(int64_t day) const;
  void RemoveEmptyDays();
  bool IsKnown(const std::shared_ptr<Volume>& volume) const;
  void RefreshSpace();
  bool HasLateNames(const Volume& volume);

  // --- what goes (disk_retire.cc) ---
  struct Aside {  // in quarantine/
    std::string name;
    AsideFile file;
  };
  void Retire(int64_t now_unix_ms);
  base::Result<void> Retire(const std::shared_ptr<Volume>& volume, const RetentionStep& step);
  void RetireSymbols(int64_t now_unix_ms);
  void ListAsides();
  void RemoveAsides(int64_t now_unix_ms);
  void ForgetGone();

  // --- damage (disk_repair.cc); maintenance_ is held by all but Remember ---
  void Repair();
  base::Result<void> Repair(const FoundDamage& found, std::vector<FoundDamage>* more);
  base::Result<void> SetVolumeAside(const std::shared_ptr<Volume>& volume,
                                    const base::Error& error);
  void VerifyOne();

  int64_t Now() const { return options_.now_unix_ms(); }
  void Notice(const std::string& sentence) const;
  std::vector<std::shared_ptr<Volume>> VolumesIn(TimeRange range) const;
  std::vector<std::shared_ptr<Volume>> AllVolumes() const;
  void Remember(std::vector<FoundDamage> damage);
  // Changes state_ once that is on disk, and does `then` in the same moment.
  base::Result<void> ChangeState(const std::function<void(StoreState&)>& change,
                                 const std::function<void()>& then = nullptr);
  // The same of what has happened already, whether it can be written or not: the next one writes
  // it.
  base::Result<void> RecordState(const std::function<void(StoreState&)>& change,
                                 const std::function<void()>& then = nullptr);
  base::Result<void> WriteState(const StoreState& state);
  std::string PathOf(const std::string& name) const { return options_.folder + "/" + name; }
  std::string AsidePath(VolumeId id, const std::string& name) const;

  DiskStoreOptions options_;
  std::optional<FolderLock> lock_;
  std::unique_ptr<duck::DuckDb> database_;
  std::unique_ptr<index::PageCache> cache_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<SymbolFiles> symbols_;
  std::unique_ptr<SymbolRepairs> repairs_;
  VolumeWorld world_;
  std::atomic<bool> stop_{false};

  std::mutex maintenance_;
  Round round_;
  BackOff back_off_;
  std::map<std::pair<VolumeId, uint32_t>, Grown> grown_;  // parts whose hour is over
  std::set<std::pair<VolumeId, std::string>> verified_;   // files
  AgeClock age_clock_;
  uint64_t symbol_asides_ = 0;  // of symbols_, that state_ has
  bool is_full_by_others_ = false;
  std::vector<Aside> asides_;
  uint64_t asides_seen_ = 0;  // StoreState::files_quarantined when they were listed
  std::mutex create_;
  std::mutex state_change_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // pins, room, and work for the maintenance
  std::map<VolumeId, std::shared_ptr<Volume>> volumes_;
  std::map<int64_t, OpenSlot> open_;              // by day; these take rows
  std::vector<std::shared_ptr<Volume>> closing_;  // open, but take no rows any more
  std::map<int64_t, int64_t> closed_at_unix_ms_;  // by day: its last volume
  std::map<VolumeId, uint32_t> closing_pins_;     // as OpenSlot::pins
  std::map<int64_t, uint32_t> numbers_;           // by day: the largest that was ever given
  StoreState state_;
  std::vector<FoundDamage> damage_;
  uint64_t aside_bytes_ = 0;
  DiskSpace space_;
  uint64_t doomed_bytes_ = 0;  // that count as used in space_, but will be free
  std::chrono::steady_clock::time_point space_asked_;
  std::optional<std::string> refuses_writes_;
  uint64_t rows_under_way_ = 0;
  std::map<VolumeId, std::string> stuck_;  // can be neither sealed nor closed now: why
  bool is_work_due_ = false;
  bool refuses_appends_ = false;
  DiskStoreStatus counters_;

  GroupQueue<Job> queue_{std::chrono::milliseconds(25)};
  std::thread writer_;
  std::thread maintainer_;
};

}  // namespace vesta::store
