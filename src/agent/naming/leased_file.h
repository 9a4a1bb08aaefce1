// The bytes of a file of ours, mapped so that nobody can change or shorten it under us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/result.h"

namespace vesta::agent::naming {

// A file that shrinks under a mapping kills its reader with SIGBUS, and one that is written to is
// no longer what was checked. A read lease prevents both: it is given only while nobody has the
// file open for writing, and whoever wants to write later has to wait (45 s as a rule, see
// /proc/sys/fs/lease-break-time; or is refused, with O_NONBLOCK) until the lease is given back. So
// who reads asks is_safe() before each short use, and lets go of the file when it says no. Where a
// file system has no leases, the bytes are copied.
// Owner:  one thread.
// Source: fcntl(2), "Leases"; a lease is broken with SIGURG here, which is ignored by default.
class LeasedFile {
 public:
  enum class Way : uint8_t { kLease, kCopy };

  // The name is a plain name inside the folder, never followed when it is a link.
  // Errors: NotFound; Permission when it is a link, no regular file, not our user's, or writable by
  //         others; Corrupt when it is empty; Unavailable when somebody has it open for writing;
  //         Exhausted when it must be copied and is longer than kCopyBytesMax.
  static base::Result<std::unique_ptr<LeasedFile>> Open(int folder_fd, const std::string& name,
                                                        Way way = Way::kLease);
  // The same for a file without a name; takes the descriptor over, also on error.
  static base::Result<std::unique_ptr<LeasedFile>> AdoptUnnamed(int fd);
  ~LeasedFile();
  LeasedFile(const LeasedFile&) = delete;
  LeasedFile& operator=(const LeasedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
  // Cost: one system call.
  bool is_safe() const;
  // Gives the pages back, which count as our memory; they are found again in the page cache.
  void DropPages();
  // Memory that stays ours until the end: all of a copy, nothing of a mapped file.
  size_t copied_bytes() const { return way_ == Way::kCopy ? size_bytes_ : 0; }
  // Says that the file was used: the cache forgets what was used longest ago.
  void Touch();

  static constexpr uint64_t kCopyBytesMax = 16u << 20;

 private:
  LeasedFile(int fd, Way way) : fd_(fd), way_(way) {}
  base::Result<void> Map(const std::string& name);
  base::Result<void> Copy(const std::string& name);

  int fd_;
  Way way_;
  const std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace vesta::agent::naming
