#include "src/spool/spool_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

namespace vesta::spool {
namespace {

constexpr std::string_view kSuffix = ".spool";
constexpr size_t kDigits = 16;

base::Error FolderError(const std::string& what, int errno_value) {
  if (errno_value == EROFS) {
    return base::Error(base::ErrorCode::kPermission, base::ErrnoError(what, errno_value).message());
  }
  return base::ErrnoError(what, errno_value);
}

base::Result<base::Descriptor> OpenFile(const std::string& path, int flags) {
  base::Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0640));
  if (file.fd() < 0) return FolderError("opening " + path, errno);
  return file;
}

bool ParseName(std::string_view name, uint64_t* first_sequence) {
  if (name.size() != kDigits + kSuffix.size() || !name.ends_with(kSuffix)) return false;
  const char* end = name.data() + kDigits;
  const auto [stop, error] = std::from_chars(name.data(), end, *first_sequence, 16);
  return error == std::errc{} && stop == end;
}

// The pid in a lock file; "another process" when it does not say.
std::string HolderOf(int lock) {
  std::array<char, 32> bytes = {};
  const ssize_t size = ::pread(lock, bytes.data(), bytes.size() - 1, 0);
  std::string pid = size > 0 ? std::string(bytes.data(), static_cast<size_t>(size)) : "";
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

std::string FileName(uint64_t first_sequence) {
  std::array<char, kDigits + 1> digits;
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(first_sequence));
  return digits.data() + std::string(kSuffix);
}

base::Result<SpoolFolder> SpoolFolder::Take(const std::string& path) {
  if (::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) {
    return FolderError("making the folder " + path, errno);
  }
  const std::string lock_path = path + "/LOCK";
  ASSIGN_OR_RETURN(base::Descriptor lock, OpenFile(lock_path, O_RDWR | O_CREAT));
  if (::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FolderError("locking " + lock_path, errno);
    return base::Error(base::ErrorCode::kUnavailable, "the spool in " + path + " is used by " +
                                                          HolderOf(lock.fd()) +
                                                          ": stop it, or give another folder");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock.fd(), 0) != 0 ||
      ::pwrite(lock.fd(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    // Only the pid is missing in another process's message then: a full disk must not keep what is
    // in the spool from being delivered.
  }
  return SpoolFolder(path, std::move(lock));
}

base::Result<std::vector<FolderFile>> SpoolFolder::List() const {
  DIR* folder = ::opendir(path_.c_str());
  if (folder == nullptr) return FolderError("listing " + path_, errno);
  std::vector<FolderFile> files;
  while (const dirent* entry = ::readdir(folder)) {
    FolderFile file;
    file.name = entry->d_name;
    struct stat status = {};
    if (!ParseName(file.name, &file.first_sequence) ||
        ::fstatat(::dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    file.disk_bytes = static_cast<uint64_t>(status.st_size);
    file.changed_unix_ms =
        int64_t{status.st_mtim.tv_sec} * 1'000 + status.st_mtim.tv_nsec / 1'000'000;
    files.push_back(std::move(file));
  }
  ::closedir(folder);
  std::sort(files.begin(), files.end(), [](const FolderFile& a, const FolderFile& b) {
    return a.first_sequence < b.first_sequence;
  });
  return files;
}

base::Result<base::Descriptor> SpoolFolder::Make(const std::string& name) const {
  return OpenFile(PathOf(name), O_RDWR | O_CREAT | O_EXCL);
}

base::Result<void> SpoolFolder::WriteAt(const std::string& name, uint64_t offset,
                                        std::string_view bytes) const {
  ASSIGN_OR_RETURN(const base::Descriptor file, OpenFile(PathOf(name), O_WRONLY));
  return spool::WriteAt(file.fd(), PathOf(name), offset, bytes);
}

base::Result<void> SpoolFolder::Cut(const std::string& name, uint64_t size_bytes) const {
  if (::truncate(PathOf(name).c_str(), static_cast<off_t>(size_bytes)) != 0) {
    return FolderError("cutting " + PathOf(name), errno);
  }
  return {};
}

base::Result<void> SpoolFolder::Remove(const std::string& name) const {
  if (::unlink(PathOf(name).c_str()) != 0 && errno != ENOENT) {
    return FolderError("removing " + PathOf(name), errno);
  }
  return {};
}

base::Result<void> SpoolFolder::Sync() const {
  ASSIGN_OR_RETURN(const base::Descriptor folder, OpenFile(path_, O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.fd()) != 0) return FolderError("syncing " + path_, errno);
  return {};
}

base::Result<void> WriteAt(int fd, const std::string& path, uint64_t offset,
                           std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FolderError("writing " + path, errno);
    offset += static_cast<uint64_t>(count);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace vesta::spool
