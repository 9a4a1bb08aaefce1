#include "src/store/disk/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/byte_source.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vesta::store {

namespace {

constexpr size_t kHashChunkBytes = size_t{4} << 20;

// A full disk is no error of the store: it may work later.
base::Error DiskError(const std::string& what, int errno_value) {
  const std::string message = base::ErrnoError(what, errno_value).message();
  if (errno_value == EROFS) {
    return base::Error(base::ErrorCode::kUnavailable,
                       message + ": the store needs a folder that it can write to");
  }
  if (errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EIO) {
    return base::Error(base::ErrorCode::kUnavailable, message);
  }
  return base::ErrnoError(what, errno_value);
}

base::Result<base::Descriptor> OpenForSync(const std::string& path, int flags) {
  base::Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (file.fd() < 0) return DiskError("opening " + path, errno);
  return file;
}

base::Result<void> WriteAll(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return DiskError("writing " + path, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

std::string ParentOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

base::Result<void> WriteDurably(const std::string& path, std::string_view bytes) {
  base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
  if (file.fd() < 0) return DiskError("making " + path, errno);
  RETURN_IF_ERROR(WriteAll(file.fd(), path, bytes));
  if (::fsync(file.fd()) != 0) return DiskError("syncing " + path, errno);
  return {};
}

bool IsFolder(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

bool IsDamage(const base::Error& error) {
  return error.code() == base::ErrorCode::kCorrupt || error.code() == base::ErrorCode::kNotFound;
}

base::Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes) {
  const std::string aside = path + std::string(kAsideSuffix);
  auto written = WriteDurably(aside, bytes);
  if (written.ok() && ::rename(aside.c_str(), path.c_str()) != 0) {
    written = DiskError("renaming " + aside, errno);
  }
  if (!written.ok()) {
    ::unlink(aside.c_str());
    return written;
  }
  return SyncFolder(ParentOf(path));
}

base::Result<void> RenameDurably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const base::Error failed = DiskError("renaming " + from + " to " + to, errno);
    if (!IsDamage(failed) || !Exists(from)) return failed;
    return base::Error(base::ErrorCode::kUnavailable, failed.message());  // the target's fault
  }
  RETURN_IF_ERROR(SyncFolder(ParentOf(to)));
  if (ParentOf(from) == ParentOf(to)) return {};
  return SyncFolder(ParentOf(from));
}

base::Result<std::string> ReadWholeFile(const std::string& path, uint64_t bytes_max) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<uint64_t>(status.st_size) > bytes_max) {
    return base::Error(base::ErrorCode::kCorrupt,
                       path + ": is longer than " + std::to_string(bytes_max) + " bytes");
  }
  return base::ReadSmallFile(path, bytes_max);
}

base::Result<void> SyncFolder(const std::string& path) {
  ASSIGN_OR_RETURN(const base::Descriptor folder, OpenForSync(path, O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.fd()) != 0) return DiskError("syncing " + path, errno);
  return {};
}

base::Result<void> MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0750) != 0) {
    if (errno == EEXIST) return {};
    return DiskError("making " + path, errno);
  }
  return SyncFolder(ParentOf(path));
}

base::Result<void> RemoveAll(const std::string& path) {
  std::error_code error;
  if (IsFolder(path) && !path.ends_with(kAsideSuffix)) {
    const std::string aside = path + std::string(kAsideSuffix);
    std::filesystem::remove_all(aside, error);  // of a removal that was not finished
    RETURN_IF_ERROR(RenameDurably(path, aside));
    std::filesystem::remove_all(aside, error);
  } else {
    std::filesystem::remove_all(path, error);
  }
  if (error) return DiskError("removing " + path, error.value());
  return {};
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

base::Result<std::vector<std::string>> ListFolder(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) {
    if (errno == ENOENT) return std::vector<std::string>{};
    return DiskError("listing " + path, errno);
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

base::Result<DiskSpace> DiskSpaceOf(const std::string& folder) {
  struct statvfs space = {};
  if (::statvfs(folder.c_str(), &space) != 0)
    return DiskError("asking for space at " + folder, errno);
  // What is reserved for root counts as used, as df shows it.
  const uint64_t used = (space.f_blocks - space.f_bfree) * space.f_frsize;
  const uint64_t free = space.f_bavail * space.f_frsize;
  return DiskSpace{used + free, free};
}

uint64_t BytesBelow(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    struct stat status = {};
    if (::lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      bytes += static_cast<uint64_t>(status.st_size);
    }
  }
  return bytes;
}

base::Result<ManifestFile> DescribeFile(const std::string& folder, const std::string& name,
                                        const std::function<bool()>& stop) {
  ASSIGN_OR_RETURN(const auto file, base::FileSource::Open(folder + "/" + name));
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::vector<std::byte> chunk(std::min<uint64_t>(kHashChunkBytes, file->size_bytes()));
  for (uint64_t at = 0; at < file->size_bytes();) {
    if (stop && stop()) {
      return base::Error(base::ErrorCode::kUnavailable, "stopped while reading " + name);
    }
    const auto part = std::span(chunk).first(
        static_cast<size_t>(std::min<uint64_t>(chunk.size(), file->size_bytes() - at)));
    RETURN_IF_ERROR(file->ReadAt(at, part));
    XXH3_128bits_update(&state, part.data(), part.size());
    at += part.size();
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  std::array<char, 33> text;
  std::snprintf(text.data(), text.size(), "%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return ManifestFile{name, file->size_bytes(), text.data()};
}

base::Result<FolderLock> FolderLock::Take(const std::string& folder) {
  const std::string path = folder + "/LOCK";
  base::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (file.fd() < 0) return DiskError("opening " + path, errno);
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return DiskError("locking " + path, errno);
    std::array<char, 32> pid = {};
    const ssize_t size = ::pread(file.fd(), pid.data(), pid.size() - 1, 0);
    std::string holder = size > 0 ? std::string(pid.data(), static_cast<size_t>(size)) : "";
    while (!holder.empty() && holder.back() == '\n') holder.pop_back();
    return base::Error(base::ErrorCode::kBusy,
                       "the store in " + folder + " is open in " +
                           (holder.empty() ? "another process" : "process " + holder) +
                           "; ask it over HTTP (--server), or stop it first");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.fd(), 0) != 0 ||
      ::pwrite(file.fd(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    // Only the pid in another process's message is missing then: a full disk must not keep the
    // store from being read.
  }
  return FolderLock(std::move(file));
}

}  // namespace vesta::store
