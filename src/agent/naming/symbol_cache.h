// The folder of symbol indexes that stays between recordings, shared by all vesta processes of one
// user.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/agent/naming/leased_file.h"
#include "src/base/result.h"

namespace vesta::agent::naming {

// Why an image has no index, or only a poor one, so that it is not tried at every recording.
struct CacheNote {
  uint64_t time_unix_s = 0;
  uint64_t image_bytes = 0;  // of the file that was read
  bool debug_file_existed = false;
  bool asked_servers = false;  // for its debug information
  std::string why;             // one line; empty = an index without lines
};

struct CacheUsage {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// Shape:  FOLDER/KEY.index, KEY.note beside it when the image is not well known, KEY.part while it
//         is written, and `lock`. Files are written aside and renamed. They are not forced to the
//         disk: the index has a checksum, a damaged one is built again.
// Trust:  the folder must be ours and writable by nobody else, else it is refused; then what lies
//         in it was put there by our own user. Files are opened without following links, and must
//         be regular, ours and not writable by others.
// Limit:  bytes_max over all files; those used longest ago go first. A file that someone reads goes
//         on living for that reader.
// Owner:  one thread; any number of processes.
class SymbolCache {
 public:
  struct Options {
    std::string folder;  // empty = none: indexes live as long as this process, without a name
    uint64_t bytes_max = uint64_t{1} << 30;
    bool make_folder = true;
  };

  // An index that is being written. Without a name where there is no folder.
  class Writing {
   public:
    Writing(int fd, int lock_fd, std::string key)
        : fd_(fd), lock_fd_(lock_fd), key_(std::move(key)) {}
    ~Writing();
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    int fd() const { return fd_; }

   private:
    friend class SymbolCache;
    int fd_;
    int lock_fd_;  // -1 = without a name
    std::string key_;
  };

  // Never fails; makes the folder if it may. Where it cannot be used, refused_why() says the cause
  // and the remedy, and the cache does without a folder.
  explicit SymbolCache(Options options);
  ~SymbolCache();
  SymbolCache(const SymbolCache&) = delete;
  SymbolCache& operator=(const SymbolCache&) = delete;

  bool has_folder() const { return folder_fd_ >= 0; }
  const std::string& refused_why() const { return refused_why_; }
  // A folder on the same disk for files without a name.
  std::string scratch_folder() const { return has_folder() ? options_.folder : "/var/tmp"; }

  // The file name of an image's identity, without the ending; nothing when it would be too long.
  static std::string KeyOf(std::string_view identity);

  bool Has(const std::string& key) const;
  // Errors: as LeasedFile::Open; NotFound without a folder.
  base::Result<std::unique_ptr<LeasedFile>> Open(const std::string& key) const;
  std::optional<CacheNote> ReadNote(const std::string& key) const;
  void WriteNote(const std::string& key, const CacheNote& note);
  void RemoveNote(const std::string& key);
  void Remove(const std::string& key);  // a damaged index

  // Errors: Unavailable when another process is writing this one; as open(2).
  base::Result<std::unique_ptr<Writing>> BeginWrite(const std::string& key);
  // Closes the descriptor for writing, and opens what was written to be checked. Nobody else sees
  // it yet.
  base::Result<std::unique_ptr<LeasedFile>> Finish(Writing& writing);
  // From now on others see it. Without a folder nothing is to be done.
  base::Result<void> Keep(Writing& writing);
  void Discard(Writing& writing);

  // How long an index may become: the limit, and half of what is free on the disk.
  uint64_t bytes_max_of_one() const;
  // Removes what is beyond the limit, and remains of processes that died.
  void Trim();
  CacheUsage Usage() const;
  uint64_t removed_files() const { return removed_files_; }

 private:
  base::Result<void> OpenFolder();

  Options options_;
  int folder_fd_ = -1;
  std::string refused_why_;
  uint64_t removed_files_ = 0;
};

}  // namespace vesta::agent::naming
