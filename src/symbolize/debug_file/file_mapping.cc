#include "src/symbolize/debug_file/file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace vesta::symbolize {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr uint64_t kInMemoryBytesMax = 1 << 20;  // smaller ones are not worth a file
constexpr uint64_t kFreeShare = 4;

Result<std::byte*> Map(uint64_t size_bytes, int protection, int flags, int fd) {
  void* start = ::mmap(nullptr, size_bytes, protection, flags, fd, 0);
  if (start == MAP_FAILED) return base::ErrnoError("mapping a file", errno);
  return static_cast<std::byte*>(start);
}

}  // namespace

Result<std::unique_ptr<FileMapping>> FileMapping::OfFile(const base::FileSource& file,
                                                         uint64_t size_bytes_max) {
  const uint64_t size = file.size_bytes();
  if (size > size_bytes_max) {
    return Error(ErrorCode::kExhausted,
                 file.name() + " is longer than " + std::to_string(size_bytes_max) + " bytes");
  }
  if (size == 0) return Error(ErrorCode::kCorrupt, file.name() + " is empty");
  ASSIGN_OR_RETURN(std::byte * start, Map(size, PROT_READ, MAP_PRIVATE, file.fd()));
  return std::unique_ptr<FileMapping>(new FileMapping(start, size, true));
}

Result<std::unique_ptr<FileMapping>> FileMapping::OfScratch(int folder_fd, uint64_t size_bytes) {
  if (size_bytes == 0) return std::unique_ptr<FileMapping>(new FileMapping(nullptr, 0, false));
  constexpr int kReadWrite = PROT_READ | PROT_WRITE;
  if (folder_fd < 0) {
    ASSIGN_OR_RETURN(std::byte * start,
                     Map(size_bytes, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS, -1));
    return std::unique_ptr<FileMapping>(new FileMapping(start, size_bytes, false));
  }
  const int fd = ::openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return base::ErrnoError("making a file for unpacked sections", errno);
  // Without room on the disk, writing to the mapping would end in SIGBUS.
  const int reserved = ::posix_fallocate(fd, 0, static_cast<off_t>(size_bytes));
  if (reserved != 0) {
    ::close(fd);
    return Error(ErrorCode::kExhausted,
                 "no room for " + std::to_string(size_bytes) + " unpacked bytes");
  }
  auto start = Map(size_bytes, kReadWrite, MAP_SHARED, fd);
  ::close(fd);
  if (!start.ok()) return std::move(start).error();
  return std::unique_ptr<FileMapping>(new FileMapping(*start, size_bytes, true));
}

FileMapping::~FileMapping() {
  if (start_ != nullptr) ::munmap(start_, size_bytes_);
}

void FileMapping::LetGo(std::span<const std::byte> part) const {
  constexpr uintptr_t kPage = 4096;
  if (!is_file_ || part.data() < start_ || part.data() + part.size() > start_ + size_bytes_) return;
  const auto first = (reinterpret_cast<uintptr_t>(part.data()) + kPage - 1) & ~(kPage - 1);
  const auto last = reinterpret_cast<uintptr_t>(part.data() + part.size()) & ~(kPage - 1);
  if (first < last) {
    static_cast<void>(::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED));
  }
}

Unpacker::Unpacker(int folder_fd, uint64_t size_bytes_max)
    : folder_fd_(folder_fd), bytes_left_(size_bytes_max) {
  struct statvfs status{};
  if (folder_fd_ >= 0 && ::fstatvfs(folder_fd_, &status) == 0) {
    bytes_left_ = std::min<uint64_t>(bytes_left_, status.f_bavail * status.f_frsize / kFreeShare);
  }
}

Result<std::unique_ptr<FileMapping>> Unpacker::Unpack(const object::CompressedSection& section) {
  if (section.size_bytes > bytes_left_) {
    return Error(ErrorCode::kExhausted, "a section of " + std::to_string(section.size_bytes) +
                                            " unpacked bytes, more than the limit leaves");
  }
  bytes_left_ -= section.size_bytes;
  const int folder = section.size_bytes > kInMemoryBytesMax ? folder_fd_ : -1;
  ASSIGN_OR_RETURN(auto mapping, FileMapping::OfScratch(folder, section.size_bytes));
  RETURN_IF_ERROR(object::DecompressInto(section, mapping->writable()));
  unpacked_bytes_ += section.size_bytes;
  return mapping;
}

}  // namespace vesta::symbolize
