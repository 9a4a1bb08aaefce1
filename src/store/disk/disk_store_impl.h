// The inside of DiskStore: which volumes there are, who writes, who maintains.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/store/disk/answers.h"
#include "src/store/disk/catalog.h"
#include "src/store/disk/disk_store.h"
#include "src/store/disk/files.h"
#include "src/store/disk/group_queue.h"
#include "src/store/disk/manifest.h"
#include "src/store/disk/volume.h"

namespace vesta::store {

// Locks, in the order in which they are taken: maintenance_ (one at a time does maintenance),
// create_ (one at a time makes a volume), mutex_ (all the rest), those of a volume.
class DiskStore::Impl {
 public:
  explicit Impl(DiskStoreOptions options);
  ~Impl();
  base::Result<void> Open();

  base::Result<AppendOutcome> Append(const Batch& batch);
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
    Answers answers(VolumesIn(range), *database_, report);
    auto result = read(answers);
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
  };
  struct Job {
    std::vector<Piece> pieces;
    Book loose;  // of rows that belong to no volume
    std::optional<base::Error> error;
  };
  struct Sorted;

  base::Result<void> CheckAppends();
  void WaitForRoom();
  Sorted SortRows(const Batch& batch, AppendOutcome* outcome);
  void ExcludeCounted(const BatchId& id, const std::set<int64_t>& days_of_dropped,
                      std::map<int64_t, std::vector<uint32_t>>* rows_of_day,
                      AppendOutcome* outcome);
  base::Result<std::shared_ptr<Volume>> Pin(int64_t day);
  void Unpin(const Job& job);
  uint32_t NextNumber(int64_t day);  // create_ held
  bool IsCounted(int64_t day, const BatchId& id, const Volume* apart_from);
  void WriteLoop();
  void WriteGroup(const std::vector<Job*>& jobs);
  base::Result<void> WriteLoose(const Book& book);

  // --- opening (disk_open.cc) ---
  base::Result<void> CheckFormat();
  base::Result<void> LoadState();
  base::Result<void> LoadVolumes();
  base::Result<void> LoadVolume(VolumeId id, const std::string& folder);
  base::Result<void> SetNamelessAside(VolumeId id, const std::vector<FoundDamage>& damage);
  base::Result<std::set<VolumeId>> ReplacedVolumes(const std::vector<std::string>& days) const;
  base::Result<void> SetFolderAside(VolumeId id, const std::string& folder,
                                    const base::Error& error);

  // --- maintenance (disk_maintenance.cc) ---
  void MaintainLoop();
  base::Result<void> MaintainLocked();
  base::Result<void> SealDue(int64_t now_unix_ms);
  base::Result<void> SealPart(Volume* volume, uint32_t part);
  base::Result<void> CloseDue(int64_t now_unix_ms);
  base::Result<void> CloseDay(int64_t day);
  base::Result<void> FinishClosing();
  base::Result<void> MergeDays(bool at_once);
  base::Result<void> MergeDay(int64_t day, std::vector<std::shared_ptr<Volume>> volumes);
  base::Result<void> Retire(int64_t now_unix_ms);
  base::Result<void> RemoveVolume(const std::shared_ptr<Volume>& volume);
  bool IsOpenDay(int64_t day) const;
  void RemoveEmptyDays();
  bool IsKnown(const std::shared_ptr<Volume>& volume) const;
  base::Result<void> Repair();
  base::Result<void> Repair(const FoundDamage& found);
  base::Result<void> SetVolumeAside(const std::shared_ptr<Volume>& volume,
                                    const base::Error& error);
  base::Result<void> VerifyOne();
  void RefreshSpace();

  int64_t Now() const { return options_.now_unix_ms(); }
  void Notice(const std::string& sentence) const;
  std::vector<std::shared_ptr<Volume>> VolumesIn(TimeRange range) const;
  std::vector<std::shared_ptr<Volume>> AllVolumes() const;
  void Remember(std::vector<FoundDamage> damage);
  base::Result<void> WriteStateLocked();  // mutex_ held
  std::string PathOf(const std::string& name) const { return options_.folder + "/" + name; }
  std::string AsidePath(VolumeId id, const std::string& name) const;

  DiskStoreOptions options_;
  std::optional<FolderLock> lock_;
  std::unique_ptr<duck::DuckDb> database_;
  std::unique_ptr<index::PageCache> cache_;
  std::unique_ptr<Catalog> catalog_;
  VolumeWorld world_;
  std::atomic<bool> stop_{false};

  std::mutex maintenance_;
  std::mutex create_;
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
  std::set<std::pair<VolumeId, std::string>> verified_;  // files
  DiskSpace space_;
  std::chrono::steady_clock::time_point space_asked_;
  std::optional<std::string> refuses_writes_;
  bool is_work_due_ = false;
  bool refuses_appends_ = false;
  DiskStoreStatus counters_;
  std::string last_failure_;  // of the maintenance thread

  GroupQueue<Job> queue_;
  std::thread writer_;
  std::thread maintainer_;
};

}  // namespace vesta::store
