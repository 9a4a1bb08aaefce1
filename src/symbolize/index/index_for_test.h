// Indexes in memory, for tests and the fuzzer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "src/base/check.h"
#include "src/symbolize/index/index_writer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vesta::symbolize {

inline std::vector<std::byte> BytesOfIndex(IndexWriter& writer, std::string_view identity) {
  const int fd = ::memfd_create("index", MFD_CLOEXEC);
  CHECK(fd >= 0);
  const auto written = writer.Write(fd, identity);
  CHECK(written.ok());
  std::vector<std::byte> bytes(writer.stats().file_bytes);
  CHECK(::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  ::close(fd);
  return bytes;
}

// Makes all checksums right, as a hostile writer would, where the sections lie in the file.
inline void FixChecksums(std::vector<std::byte>& bytes) {
  IndexHeader header;
  if (bytes.size() < sizeof(header)) return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.magic = kIndexMagic;
  header.version = kIndexVersion;
  header.file_bytes = bytes.size();
  for (SectionEntry& section : header.sections) {
    if (section.offset > bytes.size() || section.size_bytes > bytes.size() - section.offset) {
      continue;
    }
    section.checksum = XXH3_64bits(bytes.data() + section.offset, section.size_bytes);
  }
  header.checksum = XXH3_64bits(&header, offsetof(IndexHeader, checksum));
  std::memcpy(bytes.data(), &header, sizeof(header));
}

}  // namespace vesta::symbolize
