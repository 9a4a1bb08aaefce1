// Opens a file that a process wrote for its profilers, as that process sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/agent/runtime/runtime.h"
#include "src/base/byte_source.h"
#include "src/base/result.h"

namespace vesta::agent::runtime {

// What tells one state of a file from another.
struct FileState {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t mtime_unix_ns = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};

// Who a process is for itself.
struct ProcessFacts {
  uint32_t user = 0;      // that its files belong to
  std::string inner_pid;  // in the innermost pid namespace
};

// Errors: Corrupt when the text lacks something, else as open(2).
base::Result<ProcessFacts> ReadProcessFacts(const std::string& proc_root, uint32_t pid);

struct ProcessFile {
  std::unique_ptr<base::FileSource> source;
  FileState state;
};

// `path` is taken below the root of the process (of another of its threads when the first has
// ended) and never leads out of that. The file must be a regular one that belongs to the user of
// the process or to root, and must not have been written before the process started its program,
// since then it is another's that had the same pid.
// Cost:   some ten system calls; a FIFO or a device does not make it wait.
// Errors: NotFound, Permission, InvalidInput for what is no regular file.
base::Result<ProcessFile> OpenProcessFile(const std::string& proc_root, const ProcessKey& process,
                                          const ProcessFacts& facts, const std::string& path);

// The same file as it is now, whether or not a name still leads to it.
base::Result<ProcessFile> LookAgain(const base::FileSource& source);

uint64_t NowMonoNs();
// Of a time of a file: 0 when it was before the machine started.
uint64_t MonoOfUnixNs(int64_t time_unix_ns);
// Of the start of a process; 0 stays 0.
uint64_t MonoOfBootNs(uint64_t time_boot_ns);

}  // namespace vesta::agent::runtime
