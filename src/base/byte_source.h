// Random access to foreign bytes. Parsers read through this and never map files: a file that is
// truncated under a mapping would kill the agent with SIGBUS, and mapped pages count as ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace vesta::base {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual uint64_t size_bytes() const = 0;

  // Reads exactly out.size() bytes at offset. Errors: Corrupt when the range is not inside the
  // source (or the file shrank meanwhile), Unavailable on an I/O error.
  virtual Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const = 0;

  // Reads size bytes into a fresh vector; checks the range before it allocates.
  Result<std::vector<std::byte>> Read(uint64_t offset, uint64_t size) const;

  template <typename T>
  Result<T> ReadObject(uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T object;
    RETURN_IF_ERROR(ReadAt(offset, std::as_writable_bytes(std::span(&object, 1))));
    return object;
  }
};

// Bytes in memory; does not own them.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::span<const std::byte> bytes_;
};

// An open file, read with pread. Owns the descriptor.
class FileSource final : public ByteSource {
 public:
  // Errors: as open(2) and fstat(2); InvalidInput when it is no regular file (reading a FIFO or a
  // device that a hostile process mapped could block the agent or have side effects).
  static Result<std::unique_ptr<FileSource>> Open(const std::string& path);
  // Takes the descriptor over, also on error.
  static Result<std::unique_ptr<FileSource>> Adopt(int fd, const std::string& name);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  uint64_t size_bytes() const override { return size_bytes_; }
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override;
  int fd() const { return fd_; }
  const std::string& name() const { return name_; }

 private:
  FileSource(int fd, uint64_t size_bytes, std::string name)
      : fd_(fd), size_bytes_(size_bytes), name_(std::move(name)) {}
  int fd_;
  uint64_t size_bytes_;
  std::string name_;
};

// Reads a whole small file such as one of /proc (whose size is reported as 0).
// Errors: as open(2) and read(2); Exhausted when it is longer than size_bytes_max.
Result<std::string> ReadSmallFile(const std::string& path, size_t size_bytes_max = 16u << 20);

}  // namespace vesta::base
