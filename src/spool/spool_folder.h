// What the spool does to its folder and files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/descriptor.h"
#include "src/base/result.h"

namespace vesta::spool {

// Errors of all here: as of the system call, naming the path; Permission on a read-only disk.

// "00000000000000a1.spool"; files sort by the sequence of their first record.
std::string FileName(uint64_t first_sequence);

struct FolderFile {
  std::string name;
  uint64_t first_sequence = 0;  // by its name
  uint64_t disk_bytes = 0;
  int64_t changed_unix_ms = 0;
};

// A folder that is this process's own as long as this lives.
class SpoolFolder {
 public:
  // Errors: Unavailable when another process has it, with its pid where it is known.
  static base::Result<SpoolFolder> Take(const std::string& path);

  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  // Spool files, in order of their names.
  base::Result<std::vector<FolderFile>> List() const;
  // A new file, open for writing.
  base::Result<base::Descriptor> Make(const std::string& name) const;
  // Into a file that is there.
  base::Result<void> WriteAt(const std::string& name, uint64_t offset,
                             std::string_view bytes) const;
  base::Result<void> Cut(const std::string& name, uint64_t size_bytes) const;
  // Nothing happens when it is not there.
  base::Result<void> Remove(const std::string& name) const;
  base::Result<void> Sync() const;

 private:
  SpoolFolder(std::string path, base::Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  base::Descriptor lock_;
};

// All pieces, one behind the other, or an error.
base::Result<void> WriteAt(int fd, const std::string& path, uint64_t offset,
                           std::string_view bytes);

}  // namespace vesta::spool
