#include "src/wire/profile_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>

#include "src/base/descriptor.h"
#include "src/wire/gzip.h"

namespace vesta::wire {
namespace {

using base::Descriptor;
using base::ErrnoError;
using base::Error;
using base::ErrorCode;
using base::Result;
using profile::Profile;

Result<std::string> ReadAll(int fd, const std::string& name, const DecodeOptions& options) {
  const uint64_t size_bytes_max = options.size_bytes_max;
  const Error too_large(ErrorCode::kExhausted,
                        name + ": it is larger than the limit of " + HumanBytes(size_bytes_max));
  constexpr size_t kStartBytes = size_t{64} << 10;
  bool is_checked = false;
  struct ::stat status;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<uint64_t>(status.st_size) > size_bytes_max)
    return too_large;
  std::string bytes;
  size_t used = 0;
  while (true) {
    // One byte more than the limit tells that there are more.
    if (used == bytes.size())
      bytes.resize(std::min(std::max(used * 2, kStartBytes), size_bytes_max + 1));
    const ssize_t count = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError("reading", errno).Context(name);
    if (count == 0) break;
    used += static_cast<size_t>(count);
    if (!is_checked && used >= kStartBytes) {
      RETURN_IF_ERROR(CheckStart(std::string_view(bytes).substr(0, used), name, options));
      is_checked = true;
    }
    if (used > size_bytes_max) return too_large;
  }
  bytes.resize(used);
  return bytes;
}

// Returns 0 or the errno.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

// The error of a write that ended early: what was needed, what became of an old file, what to do.
Error WriteError(const std::string& path, size_t size_bytes, int errno_value, bool has_old_file) {
  const Error cause = ErrnoError("writing " + path, errno_value);
  std::string text = cause.message() + "; nothing was saved";
  if (has_old_file) text += ", the old file is unchanged";
  if (errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG)
    text += "; it needs " + HumanBytes(size_bytes) + ": make room or choose another place";
  else
    text += "; choose another place";
  return Error(cause.code(), text);
}

struct Target {
  std::string path;                       // links followed
  std::optional<struct ::stat> old_file;  // regular
  bool direct = false;                    // pipe or device: no renaming
};

Result<Target> FindTarget(const std::string& path) {
  Target target{path, std::nullopt, false};
  struct ::stat status;
  if (::stat(path.c_str(), &status) != 0) {
    // Also a link to nothing: the file is made where it points, by the plain open below.
    struct ::stat link;
    target.direct = ::lstat(path.c_str(), &link) == 0;
    return target;
  }
  if (S_ISDIR(status.st_mode))
    return Error(ErrorCode::kInvalidInput, path + " is a folder; name a file in it");
  if (!S_ISREG(status.st_mode)) {
    target.direct = true;
    return target;
  }
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real != nullptr) target.path = real.get();
  target.old_file = status;
  return target;
}

Result<void> WriteDirectly(const std::string& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
  if (file.fd() < 0) return WriteError(path, bytes.size(), errno, false);
  const int failed = WriteAll(file.fd(), bytes);
  if (failed != 0) return WriteError(path, bytes.size(), failed, false);
  return {};
}

// A name beside the target that says whose it is; a long name is cut, so that it still fits.
std::string TemporaryName(const std::string& path) {
  const std::string ending = ".tmp-" + std::to_string(::getpid());
  const size_t name = path.rfind('/') + 1;  // 0 without a '/'
  return path.substr(0, name) + path.substr(name, NAME_MAX - ending.size()) + ending;
}

Result<void> WriteBeside(const Target& target, std::string_view bytes) {
  const std::string temporary = TemporaryName(target.path);
  const bool has_old_file = target.old_file.has_value();
  ::unlink(temporary.c_str());  // of a process with this pid that was killed
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return WriteError(target.path, bytes.size(), errno, has_old_file);
  int failed = WriteAll(fd, bytes);
  if (failed == 0 && target.old_file) {
    // Not being allowed to give the file away is no reason to lose it.
    if (::fchown(fd, target.old_file->st_uid, target.old_file->st_gid) == 0)
      failed = ::fchmod(fd, target.old_file->st_mode & 07777) == 0 ? 0 : errno;
  }
  // Some file systems report a full disk only here.
  if (::close(fd) != 0 && failed == 0) failed = errno;
  if (failed == 0 && ::rename(temporary.c_str(), target.path.c_str()) != 0) failed = errno;
  if (failed == 0) return {};
  ::unlink(temporary.c_str());
  return WriteError(target.path, bytes.size(), failed, has_old_file);
}

}  // namespace

Result<std::string> ReadWholeFile(const std::string& path, const DecodeOptions& options) {
  if (path == "-") return ReadAll(STDIN_FILENO, NameForMessages(path), options);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.fd() < 0) return ErrnoError("opening " + path, errno);
  return ReadAll(file.fd(), path, options);
}

std::string NameForMessages(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Result<Profile> ReadProfileFile(const std::string& path, const DecodeOptions& options) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path, options));
  return DecodeProfile(bytes, NameForMessages(path), options);
}

Result<void> CheckOutputPath(const std::string& path) {
  if (path == "-") return {};
  ASSIGN_OR_RETURN(const Target target, FindTarget(path));
  if (target.direct) return {};
  // A regular file is written beside its target, so the folder must take new files.
  const size_t slash = target.path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : target.path.substr(0, std::max<size_t>(slash, 1));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    const Error error = ErrnoError("its folder " + folder, errno);
    return Error(error.code(),
                 "writing " + path + " will fail: " + error.message() + "; choose another place");
  }
  return {};
}

Result<void> WriteWholeFile(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    const int failed = WriteAll(STDOUT_FILENO, bytes);
    if (failed != 0) return WriteError("standard output", bytes.size(), failed, false);
    return {};
  }
  ASSIGN_OR_RETURN(const Target target, FindTarget(path));
  if (target.direct) return WriteDirectly(path, bytes);
  return WriteBeside(target, bytes);
}

}  // namespace vesta::wire
