// What /proc tells about processes, behind one interface so that tests can make up a machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"

namespace vesta::agent::process {

// The text files of /proc/PID that vesta reads.
enum class ProcFile : uint8_t { kMaps, kStat, kStatus, kComm, kCmdline, kEnviron, kCgroup };

// What tells one state of one file from any other file and from the same file rewritten.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// An executable mapping of a file, as far as needed to find that very file.
struct MappedFile {
  uint64_t start = 0;  // process addresses [start, end)
  uint64_t end = 0;
  // As stat(2) counts devices. Inode 0 means that neither is known: the caller compares contents.
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string path;  // as the process sees it, without " (deleted)"
};

struct OpenedFile {
  std::shared_ptr<const base::ByteSource> source;
  FileIdentity identity;
  bool unlinked = false;  // no name leads to it any more
  // While it is open its file system cannot be unmounted: not to be kept for long.
  bool holds_mount = false;
};

// Owner:  one thread.
// Cost:   each call is one or a few system calls; nothing is cached.
// Errors: NotFound when the process or file is gone (it may go between any two calls), Permission,
//         Exhausted when a text is longer than vesta accepts, InvalidInput when a mapped "file" is
//         a device, FIFO or the like.
class ProcView {
 public:
  virtual ~ProcView() = default;

  // CLOCK_MONOTONIC, to tell whether an event is older than what was read here.
  virtual uint64_t NowMonoNs() const = 0;

  // Length of one clock tick of the start time in /proc/PID/stat.
  virtual uint64_t TickNs() const = 0;

  virtual base::Result<std::vector<uint32_t>> ListPids() const = 0;
  virtual base::Result<std::string> Read(uint32_t pid, ProcFile file) const = 0;
  virtual base::Result<std::string> ReadExe(uint32_t pid) const = 0;  // target of the link

  // Pid 0 stands for the agent's own view: only the path counts, and device and inode if given. For
  // files of processes that are gone.
  virtual base::Result<FileIdentity> StatMapped(uint32_t pid, const MappedFile& file) const = 0;
  virtual base::Result<OpenedFile> OpenMapped(uint32_t pid, const MappedFile& file) const = 0;

  // Errors: as above when any byte cannot be read.
  virtual base::Result<void> ReadMemory(uint32_t pid, uint64_t address,
                                        std::span<std::byte> out) const = 0;

  // The vDSO that this kernel gives to 64-bit programs.
  virtual base::Result<std::string> ReadVdso() const = 0;
};

}  // namespace vesta::agent::process
