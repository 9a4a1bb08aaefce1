// Files and unpacked sections in memory that the kernel may take back at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/compressed_section.h"

namespace vesta::symbolize {

// A mapping, unmapped at the end.
// Owner: only for processes that may die: when the file becomes shorter, reading ends in SIGBUS.
class FileMapping {
 public:
  // The whole file, to be read. Errors: Exhausted when it is longer than size_bytes_max.
  static base::Result<std::unique_ptr<FileMapping>> OfFile(const base::FileSource& file,
                                                           uint64_t size_bytes_max);
  // Fresh bytes of a file without a name in a folder, whose room on the disk is reserved; of
  // anonymous memory when the folder is -1.
  static base::Result<std::unique_ptr<FileMapping>> OfScratch(int folder_fd, uint64_t size_bytes);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  std::span<const std::byte> bytes() const { return {start_, size_bytes_}; }
  std::span<std::byte> writable() { return {start_, size_bytes_}; }

  // Says to the kernel that this part, if it is one, is not needed for now: it leaves the memory of
  // this process, and is read anew from the file when it is asked for. Anonymous memory stays.
  void LetGo(std::span<const std::byte> part) const;

 private:
  FileMapping(std::byte* start, size_t size_bytes, bool is_file)
      : start_(start), size_bytes_(size_bytes), is_file_(is_file) {}
  std::byte* start_;
  size_t size_bytes_;
  bool is_file_;
};

// Unpacks sections, bounded for all of them together.
// Owner: one thread; the folder stays open.
class Unpacker {
 public:
  // Large sections go into files without a name in that folder, and not more than a quarter of what
  // is free there; -1: all into memory.
  Unpacker(int folder_fd, uint64_t size_bytes_max);

  // Errors: as DecompressInto; Exhausted beyond the bound or when the disk is full.
  base::Result<std::unique_ptr<FileMapping>> Unpack(const object::CompressedSection& section);

  uint64_t bytes_left() const { return bytes_left_; }
  uint64_t unpacked_bytes() const { return unpacked_bytes_; }

 private:
  int folder_fd_;
  uint64_t bytes_left_;
  uint64_t unpacked_bytes_ = 0;
};

}  // namespace vesta::symbolize
