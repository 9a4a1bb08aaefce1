// Names addresses of binaries: from an index with lines and inlined functions where there is one,
// else from the symbol tables; and has the indexes made that are missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/agent/naming/foreign_root.h"
#include "src/agent/naming/index_runner.h"
#include "src/agent/naming/leased_file.h"
#include "src/agent/naming/symbol_cache.h"
#include "src/agent/process/image_store.h"
#include "src/base/result.h"
#include "src/profile/frame.h"
#include "src/symbolize/index/symbol_index.h"
#include "src/symbolize/symbol.h"

namespace vesta::agent::naming {

struct NamerBook {
  uint64_t cache_hits = 0;              // images whose index was there already
  uint64_t indexes_damaged = 0;         // removed, to be built again
  uint64_t indexes_busy = 0;            // times that somebody had one open for writing
  uint64_t built = 0;                   // indexes that are whole
  uint64_t invalid = 0;                 // of those that were built: refused by the check
  uint64_t ended[kIndexEndCount] = {};  // processes, by IndexEnd
  uint64_t skipped_by_note = 0;         // an earlier run noted that it is no use
  uint64_t peak_memory_bytes = 0;       // of the largest process
};

// An image has one index, which also holds what its symbol tables say; it is made once per
// identity, in a process of its own, and kept in the symbol cache. One that could not be made is
// tried again after a day, or when the file is another one, or when a debug file has come. Names
// are facts about addresses, so they may come later than samples: what is asked for too early gets
// the symbol tables' answer, later the better one. Owner:  the thread of the image store. Cost:
// Want: one addition. Name: microseconds per address from an index, and reading it once
//         when it is opened; one pass over the symbol tables without. At most open_indexes_max
//         indexes are open, and their pages are given back after each call.
class Namer {
 public:
  struct Options {
    SymbolCache::Options cache;
    IndexRunner::Options runner;
    std::vector<std::string> debuginfod_urls;
    size_t open_indexes_max = 64;
    size_t copied_bytes_max = 16u << 20;      // of indexes where a file system has no leases
    uint64_t start_delay_ns = 1'000'000'000;  // short recordings build nothing while they run
  };
  // How much the building process may take while samples are taken.
  struct Pace {
    bool may_run = true;
    uint64_t cpu_ns_per_s = 0;  // 0 = no limit
  };
  struct Progress {
    size_t done = 0;  // indexes, of those wanted
    size_t wanted = 0;
    std::string path;  // that is being read
    uint32_t percent = 0;
  };
  // Says whether to go on waiting.
  using KeepWaiting = std::function<bool(const Progress&)>;

  Namer(process::ImageStore& images, Options options);
  Namer(const Namer&) = delete;
  Namer& operator=(const Namer&) = delete;

  // A sample has a frame of this image.
  void Want(profile::ImageId image) {
    if (image.value() >= wanted_.size()) wanted_.resize(image.value() + 1);
    ++wanted_[image.value()];
  }
  void SetPace(const Pace& pace) { pace_ = pace; }
  // Starts, paces and reaps the building process. Cost: a few system calls while one runs.
  void Poll(uint64_t now_mono_ns);
  // Builds what is missing at full speed. Returns whether nothing is missing any more; else it was
  // the time or the callback that ended it, and what was being built is given up.
  bool WaitIdle(uint64_t until_mono_ns, const KeepWaiting& keep_waiting);
  // The best names that there are now.
  // Shape:  sorted unique image addresses; one Symbol each, empty = no name.
  // Errors: as ImageStore::Open and symbolize::ResolveElfSymbols; only when there is no index.
  base::Result<std::vector<symbolize::Symbol>> Name(profile::ImageId image,
                                                    std::span<const uint64_t> addresses);
  // The number will stand for another image.
  void Forget(profile::ImageId image);

  // Whether better names than now may come: the image's index is still to be made.
  bool IsPending(profile::ImageId image);
  // Whether Name answers from an index.
  bool HasIndex(profile::ImageId image);
  // Images whose index is still to come.
  size_t pending_count() const;
  // CPU time of all building processes so far.
  uint64_t helper_cpu_ns() const { return runner_.cpu_ns(); }
  const NamerBook& book() const { return book_; }
  const SymbolCache& cache() const { return cache_; }

 private:
  enum class State : uint8_t {
    kReady,   // there is an index
    kQueued,  // to be built; there may be an older one
    kBuilding,
    kElsewhere,  // another process builds it
    kNone,       // there will be none
  };
  struct OpenIndex {
    std::unique_ptr<LeasedFile> file;
    symbolize::SymbolIndex index;
    std::unordered_map<uint32_t, std::string> names;  // demangled, by function
    uint64_t used = 0;                                // a count of all uses
  };
  struct Entry {
    std::string content;     // its place in entries_
    std::string identity;    // that stands in the index
    std::string key;         // in the cache
    profile::ImageId image;  // one of them
    uint32_t image_count = 0;
    State state = State::kQueued;
    uint64_t look_again_mono_ns = 0;
    std::unique_ptr<OpenIndex> open;
    std::unique_ptr<ForeignRoot> root;  // where its debug files may lie, until it is built
  };

  static bool IsStillToCome(const Entry& entry);
  // Null for what has no index; looks into the cache the first time.
  Entry* EntryOf(profile::ImageId image);
  void LearnWanted();
  void LookUp(Entry& entry);
  void HoldRoot(Entry& entry);
  bool IsOver(const CacheNote& note, const Entry& entry);
  uint64_t SamplesOf(const Entry& entry) const;
  void KeepPace(uint64_t now_mono_ns);
  Entry* NextQueued(uint64_t now_mono_ns);
  void StartNext(uint64_t now_mono_ns);
  base::Result<void> StartBuilding(Entry& entry, uint64_t now_mono_ns);
  void TakeOutcome(const IndexOutcome& outcome);
  void GiveUp();
  void Erase(Entry& entry);
  void Close(Entry& entry);
  void Adopt(Entry& entry, std::unique_ptr<OpenIndex> open);
  OpenIndex* OpenIndexOf(Entry& entry);
  base::Result<std::unique_ptr<OpenIndex>> Check(std::unique_ptr<LeasedFile> file,
                                                 const Entry& entry);
  std::vector<symbolize::Symbol> NameFromIndex(OpenIndex& open,
                                               std::span<const uint64_t> addresses);
  const std::string& NameForPeople(OpenIndex& open, uint32_t function);

  process::ImageStore& images_;
  Options options_;
  SymbolCache cache_;
  IndexRunner runner_;
  NamerBook book_;
  Pace pace_;

  std::vector<uint32_t> wanted_;          // frames, by image
  std::map<std::string, Entry> entries_;  // by identity and place of the code
  std::vector<Entry*> by_image_;
  Entry* building_ = nullptr;
  std::unique_ptr<SymbolCache::Writing> writing_;
  uint64_t image_bytes_ = 0;  // of the file that is being read
  size_t open_count_ = 0;
  size_t copied_bytes_ = 0;
  size_t name_bytes_ = 0;
  uint64_t use_next_ = 1;
  uint64_t first_poll_mono_ns_ = 0;
  uint64_t learn_next_mono_ns_ = 0;
  uint64_t paced_mono_ns_ = 0;
  uint64_t paced_cpu_ns_ = 0;
  int64_t account_ns_ = 0;  // CPU time that the building process may take at once
};

}  // namespace vesta::agent::naming
