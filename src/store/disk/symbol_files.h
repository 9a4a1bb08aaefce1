// Names that came late, in DIR/symbols: a log of the newest, and sorted files of all before.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/base/descriptor.h"
#include "src/base/result.h"
#include "src/store/batch.h"
#include "src/store/index/page_cache.h"
#include "src/store/symbols/recent_symbols.h"
#include "src/store/symbols/symbol_run.h"
#include "src/store/symbols/symbol_view.h"

namespace vesta::store {

struct SymbolFilesOptions {
  std::string folder;        // made when it is missing
  std::string aside_folder;  // for what is damaged
  // Together at most some 20 MB, with what else there is.
  size_t recent_bytes_max = size_t{8} << 20;
  size_t cache_bytes_max = size_t{8} << 20;
  size_t runs_max = 4;          // beyond, the small ones become one
  size_t batches_max = 65'536;  // that are known when they come again; the newest
  std::function<int64_t()> now_unix_ms;
  std::function<void(std::string_view step)> step;  // DiskStoreOptions::step_hook
  std::function<void(const std::string& sentence)> on_notice;
};

struct SymbolFilesStatus {
  SymbolsOutcome book;  // since it was opened
  uint64_t places = 0;  // that have a name here
  uint64_t disk_bytes = 0;
  uint64_t memory_bytes = 0;
  uint64_t files_quarantined = 0;  // since it was opened
};

// Shape:   docs/formats/store.md. Facts lie by image and address; of a place the newest is kept.
// Owner:   shared by any threads; appends that wait for the disk together share one fsync. Maintain
//          is for the maintenance thread.
// Cost:    a fact that is new about 2 us and its part of an fsync; one that is known a look into
//          memory, or into a page of a file.
// Errors:  of Open: as of the system calls, Unsupported when a newer vesta wrote it. What is
// damaged
//          is set aside and told; the rest serves.
class SymbolFiles {
 public:
  static base::Result<std::unique_ptr<SymbolFiles>> Open(SymbolFilesOptions options);
  ~SymbolFiles();

  // As Store::AppendSymbols.
  base::Result<SymbolsOutcome> Append(const SymbolBatch& batch);
  // What is told by now.
  symbols::SymbolView View();
  // For whoever has seen a view's damage: the file goes to the aside folder.
  void NoteDamage(const symbols::SymbolView& view);
  // Facts that were told before the time go, and the oldest files beyond the bytes.
  base::Result<void> Maintain(int64_t oldest_unix_ms, uint64_t bytes_max);
  SymbolFilesStatus status() const;

 private:
  class Log;
  struct RunFile {
    uint64_t number = 0;
    std::shared_ptr<const symbols::SymbolRun> run;
  };
  struct Told;  // the facts of a batch

  explicit SymbolFiles(SymbolFilesOptions options);
  base::Result<void> Load();
  base::Result<void> LoadRun(uint64_t number);
  base::Result<void> LoadLog(uint64_t number, bool* is_damaged);
  void Replay(const symbols::FactBlock& block);
  std::string PathOf(const char* kind, uint64_t number) const;
  std::string AsidePath(const std::string& path) const;
  base::Result<void> SetAside(const std::string& path, const std::string& what);
  base::Result<std::shared_ptr<const symbols::SymbolRun>> OpenRun(uint64_t number);

  // mutex_ is held by all these.
  symbols::SymbolView ViewUntil(uint64_t version) const;
  Told Choose(const SymbolBatch& batch, SymbolsOutcome* outcome);
  base::Result<void> Write(const Told& told, std::optional<symbols::Hash128> batch);
  base::Result<void> WaitUntilDurable(std::unique_lock<std::mutex>* lock);
  base::Result<void> Rotate();
  void RememberBatch(const symbols::Hash128& batch);
  base::Result<void> SetRunAside(const symbols::SymbolRun* run, const std::string& what);

  base::Result<void> Drop(const std::vector<RunFile>& runs, const std::string& why);
  base::Result<void> Merge(const std::vector<RunFile>& runs, uint64_t oldest_version);

  const SymbolFilesOptions options_;
  index::PageCache cache_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Log> log_;
  uint64_t log_number_ = 0;
  bool is_log_bad_ = false;  // nothing more may be written to it
  uint64_t written_ = 0;     // records
  uint64_t synced_ = 0;
  bool is_syncing_ = false;
  std::shared_ptr<symbols::RecentSymbols> recent_;
  std::vector<symbols::Hash128> recent_batches_;
  uint64_t recent_new_places_ = 0;
  std::vector<RunFile> runs_;  // newest first
  std::deque<symbols::Hash128> batches_;
  std::unordered_set<symbols::Hash128, symbols::Hash128Hash> batches_known_;
  uint64_t last_version_ = 0;  // that was given
  uint64_t told_version_ = 0;  // that reads may see
  SymbolsOutcome book_;
  uint64_t files_quarantined_ = 0;
};

}  // namespace vesta::store
