// What the store does to files: written aside and renamed, synced, checked, and the folder's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/descriptor.h"
#include "src/base/result.h"
#include "src/store/disk/manifest.h"
#include "src/store/disk/retention.h"

namespace vesta::store {

// Errors of all here: as of the system call, naming the path; Unavailable when the disk is full.

// What is aside has this at its end, and is removed when the store is opened.
inline constexpr std::string_view kAsideSuffix = ".tmp";

// Whether a file cannot be read because of its bytes, or because it is not there. Any other error
// is of the machine (no descriptors, no right, a disk that fails): the file may be as good as ever.
bool IsDamage(const base::Error& error);

// The file is there whole and durable, or as it was before; what was written aside is gone then.
base::Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes);
// Durable in both folders.
base::Result<void> RenameDurably(const std::string& from, const std::string& to);
// Errors: Corrupt for a file that is longer: no such file was ever written.
base::Result<std::string> ReadWholeFile(const std::string& path, uint64_t bytes_max);
base::Result<void> SyncFolder(const std::string& path);
// Nothing happens when it is there. The parent is synced.
base::Result<void> MakeFolder(const std::string& path);
// Nothing happens when it is not there. A folder goes with all that is in it, and at once: it is
// renamed first (kAsideSuffix), so that a crash never leaves some of its files.
base::Result<void> RemoveAll(const std::string& path);
bool Exists(const std::string& path);
// Names in a folder, sorted; none when it is not there.
base::Result<std::vector<std::string>> ListFolder(const std::string& path);
base::Result<DiskSpace> DiskSpaceOf(const std::string& folder);
// Of the files in a folder and below; what vanishes meanwhile is not counted.
uint64_t BytesBelow(const std::string& folder);

// Size and checksum of a file, as a manifest has them.
// Errors: besides, Unavailable when stop returned true (it is asked every few MB).
base::Result<ManifestFile> DescribeFile(const std::string& folder, const std::string& name,
                                        const std::function<bool()>& stop = nullptr);

// The right to change a store's folder. Goes with the process, however that ends.
class FolderLock {
 public:
  // Errors: Busy when another process has it, with its pid where it is known.
  static base::Result<FolderLock> Take(const std::string& folder);

 private:
  explicit FolderLock(base::Descriptor file) : file_(std::move(file)) {}
  base::Descriptor file_;
};

}  // namespace vesta::store
