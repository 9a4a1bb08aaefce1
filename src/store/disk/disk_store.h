// The store in a folder: profiles of weeks on one disk, without another server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/store/disk/retention.h"
#include "src/store/store.h"

namespace vesta::store {

// Shape: the defaults are those of `vesta server`; tests make parts small and give a clock.
struct DiskStoreOptions {
  std::string folder;  // made when it is missing (its parent must be there)

  RetentionLimits retention;
  uint64_t series_max = 100'000;  // beyond, rows go to the overflow series

  // An hour's rows are sealed when the hour is over and no more come, or when there are so many.
  uint64_t part_rows_max = 1'000'000;
  int64_t part_ms = 3'600'000;  // divides a day
  // How long an hour that is over must have got no row before it is sealed with fewer.
  int64_t seal_idle_ms = 60'000;
  // How long a day that is over stays open for late rows, and any other day for its next ones.
  int64_t day_grace_ms = 600'000;
  int64_t idle_ms = 120'000;
  // Of all open volumes together. The one that was longest without a row is closed beyond that, and
  // a single one that is larger. What volumes that are merged may have, too. A day of 200 services
  // in two versions fits: each further volume of a day has nearly all names and stacks again.
  uint64_t dictionary_bytes_max = uint64_t{192} << 20;
  size_t open_volumes_max = 4;
  uint64_t database_memory_bytes = uint64_t{96} << 20;

  // How often the maintenance thread looks for work; 0 = never, only Settle() and Maintain() work.
  int64_t maintenance_period_ms = 1'000;

  // How long an append waits while there are more rows in memory than maintenance_period_ms > 0
  // makes room for. Then it is refused.
  int64_t room_wait_ms = 30'000;

  // The world, so that tests can change it; empty = the machine's own.
  std::function<int64_t()> now_unix_ms;
  std::function<int64_t()> steady_ms;  // runs on evenly, whatever is done to the clock
  std::function<base::Result<DiskSpace>(const std::string& folder)> disk_space;
  // Told before each step that leaves a trace on disk; a test's child dies there.
  std::function<void(std::string_view step)> step_hook;
  // Told what a person should know (a file was set aside, maintenance failed): one sentence each,
  // from any thread.
  std::function<void(const std::string& sentence)> on_notice;
};

// What only this backend has to tell, for /metrics and `vesta status`.
struct DiskStoreStatus {
  uint64_t volumes = 0;
  uint64_t open_volumes = 0;
  uint64_t open_rows = 0;            // not sealed yet; these are in memory
  uint64_t dictionary_bytes = 0;     // memory of open volumes' dictionaries
  uint64_t raw_expired_volumes = 0;  // roll-ups stay, rows are gone
  uint64_t files_quarantined = 0;    // ever
  uint64_t quarantine_bytes = 0;     // now
  uint64_t symbol_bytes = 0;         // of names that came late, on disk
  uint64_t symbol_memory_bytes = 0;
  uint64_t commits = 0;  // since it was opened
  uint64_t seals = 0;
  uint64_t closes = 0;
  uint64_t maintenance_failures = 0;
  DiskSpace disk;
};

// Shape:   docs/formats/store.md has the folder. One process at a time has it open.
// Owner:   shared by all threads of a server. Two of its own: one commits (batches that wait for it
//          together are one transaction), one does the maintenance (seals, closes, merges, retires,
//          verifies).
// Cost:    open rows are in memory (32 bytes each, up to twice that where a series has few;
//          part_rows_max per open hour), as are the dictionaries of open volumes; closed days cost
//          their headers, and all together a cache of pages that were read.
// Errors:  of Open: Busy when another process has the folder (the message has its pid),
//          Unsupported when a newer vesta wrote it, Permission when it cannot be written.
class DiskStore final : public Store {
 public:
  static base::Result<std::unique_ptr<DiskStore>> Open(DiskStoreOptions options);
  // Waits for appends under way and for the maintenance step under way (each is short, or stops).
  ~DiskStore() override;

  base::Result<AppendOutcome> Append(const Batch& batch) override;
  base::Result<SymbolsOutcome> AppendSymbols(const SymbolBatch& batch) override;
  ProfileType type(TypeId id) const override;
  Labels labels(SeriesId id) const override;
  base::Result<std::vector<SeriesTotal>> Series(TimeRange range, const ReadLimits& limits,
                                                ReadReport* report) override;
  base::Result<void> Stacks(const ReadRequest& request, ReadReport* report,
                            const Sink<StackBlock>& sink) override;
  base::Result<void> Functions(const ReadRequest& request, ReadReport* report,
                               const Sink<FunctionBlock>& sink) override;
  base::Result<std::vector<TimelineCell>> Timeline(const ReadRequest& request, int64_t step_ms,
                                                   ReadReport* report) override;
  base::Result<void> Rows(const ReadRequest& request, ReadReport* report,
                          const Sink<RowBlock>& sink) override;
  StoreStatus Status() const override;

  DiskStoreStatus disk_status() const;

  // New appends are refused from now on (Unavailable); reads go on. For SIGTERM, before the
  // destructor.
  void RefuseAppends();

  // Does all the maintenance that is due by the clock, in the calling thread.
  base::Result<void> Maintain();
  // Seals all open rows, due or not; days stay open.
  base::Result<void> Seal();
  // Seals and closes everything, due or not: for tests, and after an import into a folder that is
  // closed then. Rows that come later open further volumes.
  base::Result<void> Settle();

 private:
  class Impl;
  explicit DiskStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace vesta::store
