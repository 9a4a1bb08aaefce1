// The file that an index is written to: sections one after the other, the header at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/result.h"
#include "src/symbolize/index/index_format.h"

namespace vesta::symbolize {

// Owner:  one thread; the descriptor stays the caller's.
// Errors: the first failure of write(2) stays, and Finish gives it.
class IndexFile {
 public:
  explicit IndexFile(int fd);
  ~IndexFile();
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;

  void BeginSection(IndexSection section);
  void Append(IndexBytes bytes);
  void EndSection();

  // Completes the header and writes it; gives the size of the file.
  base::Result<uint64_t> Finish(IndexHeader header);

 private:
  struct Checksum;

  void Flush();
  void WriteAt(uint64_t offset, IndexBytes bytes);

  const int fd_;
  std::unique_ptr<Checksum> checksum_;
  std::array<SectionEntry, kIndexSectionCount> sections_;
  SectionEntry* section_ = nullptr;
  std::vector<std::byte> buffer_;
  uint64_t written_bytes_ = sizeof(IndexHeader);
  std::optional<base::Error> failure_;
};

}  // namespace vesta::symbolize
