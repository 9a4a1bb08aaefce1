#include "src/agent/naming/leased_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace vesta::agent::naming {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// A link or a FIFO in the place of a file never blocks us and has no effect.
constexpr int kOpenFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

}  // namespace

Result<std::unique_ptr<LeasedFile>> LeasedFile::Open(int folder_fd, const std::string& name,
                                                     Way way) {
  const int fd = ::openat(folder_fd, name.c_str(), kOpenFlags);
  if (fd < 0 && errno == ELOOP) {
    return Error(ErrorCode::kPermission, name + " is a symbolic link");
  }
  if (fd < 0) return base::ErrnoError("opening " + name, errno);
  std::unique_ptr<LeasedFile> file(new LeasedFile(fd, way));
  RETURN_IF_ERROR(file->Map(name));
  return file;
}

Result<std::unique_ptr<LeasedFile>> LeasedFile::AdoptUnnamed(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int readable = ::open(path.c_str(), kOpenFlags & ~O_NOFOLLOW);
  const int errno_value = errno;
  ::close(fd);  // as long as it is open for writing there is no lease
  if (readable < 0) return base::ErrnoError("opening a file without a name", errno_value);
  std::unique_ptr<LeasedFile> file(new LeasedFile(readable, Way::kLease));
  RETURN_IF_ERROR(file->Map("a file without a name"));
  return file;
}

Result<void> LeasedFile::Map(const std::string& name) {
  struct stat status{};
  if (::fstat(fd_, &status) != 0) return base::ErrnoError("asking for the state of " + name, errno);
  if (!S_ISREG(status.st_mode)) return Error(ErrorCode::kPermission, name + " is no regular file");
  if (status.st_uid != ::geteuid()) {
    return Error(ErrorCode::kPermission, name + " belongs to another user");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error(ErrorCode::kPermission, name + " can be written by other users");
  }
  if (way_ == Way::kLease) {
    // The default signal, SIGIO, would end the process.
    static_cast<void>(::fcntl(fd_, F_SETSIG, SIGURG));
    if (::fcntl(fd_, F_SETLEASE, F_RDLCK) != 0) {
      if (errno == EAGAIN) {
        return Error(ErrorCode::kUnavailable, name + " is open for writing");
      }
      way_ = Way::kCopy;
    }
  }
  // Only now nobody can change its size.
  if (::fstat(fd_, &status) != 0) return base::ErrnoError("asking for the state of " + name, errno);
  if (status.st_size <= 0) return Error(ErrorCode::kCorrupt, name + " is empty");
  size_bytes_ = static_cast<size_t>(status.st_size);
  if (way_ == Way::kCopy) return Copy(name);
  void* mapped = ::mmap(nullptr, size_bytes_, PROT_READ, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) return base::ErrnoError("mapping " + name, errno);
  data_ = static_cast<const std::byte*>(mapped);
  return {};
}

Result<void> LeasedFile::Copy(const std::string& name) {
  if (size_bytes_ > kCopyBytesMax) {
    return Error(ErrorCode::kExhausted,
                 name + " is too long to be copied, and its file system has no leases");
  }
  void* memory =
      ::mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return base::ErrnoError("memory for " + name, errno);
  data_ = static_cast<const std::byte*>(memory);
  size_t done = 0;
  while (done < size_bytes_) {
    const ssize_t count = ::pread(fd_, static_cast<std::byte*>(memory) + done, size_bytes_ - done,
                                  static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoError("reading " + name, errno);
    if (count == 0) return Error(ErrorCode::kCorrupt, name + " became shorter");
    done += static_cast<size_t>(count);
  }
  return {};
}

LeasedFile::~LeasedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
  // Closing does not, where a process of ours that was forked has the file, too.
  if (way_ == Way::kLease) static_cast<void>(::fcntl(fd_, F_SETLEASE, F_UNLCK));
  ::close(fd_);
}

bool LeasedFile::is_safe() const {
  return way_ == Way::kCopy || ::fcntl(fd_, F_GETLEASE) == F_RDLCK;
}

void LeasedFile::DropPages() {
  if (way_ == Way::kCopy) return;
  ::madvise(const_cast<std::byte*>(data_), size_bytes_, MADV_DONTNEED);
}

void LeasedFile::Touch() { static_cast<void>(::futimens(fd_, nullptr) == 0); }

}  // namespace vesta::agent::naming
