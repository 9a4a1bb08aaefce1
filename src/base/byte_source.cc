#include "src/base/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace vesta::base {
namespace {

Error OutOfRange(uint64_t offset, uint64_t size, uint64_t source_size) {
  return Error(ErrorCode::kCorrupt, "bytes " + std::to_string(offset) + "+" + std::to_string(size) +
                                        " lie outside of " + std::to_string(source_size) +
                                        " bytes");
}

bool InRange(uint64_t offset, uint64_t size, uint64_t source_size) {
  return offset <= source_size && size <= source_size - offset;
}

}  // namespace

Result<std::vector<std::byte>> ByteSource::Read(uint64_t offset, uint64_t size) const {
  if (!InRange(offset, size, size_bytes())) return OutOfRange(offset, size, size_bytes());
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  RETURN_IF_ERROR(ReadAt(offset, bytes));
  return bytes;
}

Result<void> MemorySource::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  if (!InRange(offset, out.size(), bytes_.size())) {
    return OutOfRange(offset, out.size(), bytes_.size());
  }
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

Result<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return ErrnoError("opening " + path, errno);
  return Adopt(fd, path);
}

Result<std::unique_ptr<FileSource>> FileSource::Adopt(int fd, const std::string& name) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) {
    const int errno_value = errno;
    ::close(fd);
    return ErrnoError("reading the size of " + name, errno_value);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    return Error(ErrorCode::kInvalidInput, name + " is not a regular file");
  }
  return std::unique_ptr<FileSource>(
      new FileSource(fd, static_cast<uint64_t>(status.st_size), name));
}

FileSource::~FileSource() { ::close(fd_); }

Result<void> FileSource::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  if (!InRange(offset, out.size(), size_bytes_)) return OutOfRange(offset, out.size(), size_bytes_);
  while (!out.empty()) {
    const ssize_t count = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0) {
      if (errno == EINTR) continue;
      return ErrnoError("reading " + name_, errno);
    }
    if (count == 0) {
      return Error(ErrorCode::kCorrupt, name_ + " became shorter while it was read");
    }
    out = out.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

Result<std::string> ReadSmallFile(const std::string& path, size_t size_bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return ErrnoError("opening " + path, errno);
  std::string text;
  size_t used = 0;
  for (;;) {
    // Doubling keeps the number of reads small: /proc renders the file anew for each.
    if (used == text.size()) text.resize(std::max<size_t>(4096, text.size() * 2));
    const ssize_t count = ::read(fd, text.data() + used, text.size() - used);
    if (count < 0) {
      if (errno == EINTR) continue;
      const int errno_value = errno;
      ::close(fd);
      return ErrnoError("reading " + path, errno_value);
    }
    if (count == 0) break;
    used += static_cast<size_t>(count);
    if (used > size_bytes_max) {
      ::close(fd);
      return Error(ErrorCode::kExhausted,
                   path + " is longer than " + std::to_string(size_bytes_max) + " bytes");
    }
  }
  ::close(fd);
  text.resize(used);
  return text;
}

}  // namespace vesta::base
