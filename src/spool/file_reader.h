// Finds the records of a spool file, past whatever is damaged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/spool/spool_format.h"

namespace vesta::spool {

struct FoundRecord {
  RecordHeader header;
  uint64_t offset = 0;  // of its header
  std::string payload;
  uint64_t end_offset() const { return offset + kRecordHeaderBytes + payload.size(); }
};

// Owner: the source must outlive it.
class FileReader {
 public:
  FileReader(const base::ByteSource& source, uint64_t record_bytes_max)
      : source_(source), record_bytes_max_(record_bytes_max) {}

  // As DecodeFileHeader; a file that is too short for a header is damaged.
  // Errors: Unavailable when it cannot be read.
  base::Result<FileKind> ReadHeader(FileHeader* header, std::optional<ReadMark>* mark) const;

  // The first whole record at `offset` or behind it that continues after `read`; nothing when there
  // is none up to the end.
  // Cost:   a damaged stretch is searched byte by byte, with one hash where a record seems to
  // begin. Errors: Unavailable when it cannot be read.
  base::Result<std::optional<FoundRecord>> Next(uint64_t offset, const Total& read) const;

  // What the header of a record at `offset` says, though the record may not be whole.
  base::Result<std::optional<RecordHeader>> HeaderAt(uint64_t offset) const;

 private:
  // Where kRecordMagic comes next; the end of the file when it does not.
  base::Result<uint64_t> NextMagic(uint64_t offset) const;

  const base::ByteSource& source_;
  uint64_t record_bytes_max_;
};

}  // namespace vesta::spool
