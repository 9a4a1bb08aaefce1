#include "src/spool/file_reader.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace vesta::spool {
namespace {

constexpr uint64_t kSearchBytes = 64 << 10;

}  // namespace

base::Result<FileKind> FileReader::ReadHeader(FileHeader* header,
                                              std::optional<ReadMark>* mark) const {
  std::array<std::byte, kFileHeaderBytes> bytes;
  const auto size = static_cast<size_t>(std::min<uint64_t>(bytes.size(), source_.size_bytes()));
  const auto part = std::span(bytes).first(size);
  RETURN_IF_ERROR(source_.ReadAt(0, part));
  return DecodeFileHeader(part, header, mark);
}

base::Result<std::optional<RecordHeader>> FileReader::HeaderAt(uint64_t offset) const {
  std::array<std::byte, kRecordHeaderBytes> bytes;
  if (offset > source_.size_bytes() || source_.size_bytes() - offset < bytes.size()) {
    return std::optional<RecordHeader>();
  }
  RETURN_IF_ERROR(source_.ReadAt(offset, bytes));
  return DecodeRecordHeader(bytes);
}

base::Result<uint64_t> FileReader::NextMagic(uint64_t offset) const {
  std::vector<std::byte> chunk;
  const uint64_t size_bytes = source_.size_bytes();
  while (offset < size_bytes) {
    const uint64_t count = std::min(kSearchBytes, size_bytes - offset);
    chunk.resize(static_cast<size_t>(count));
    RETURN_IF_ERROR(source_.ReadAt(offset, chunk));
    const std::string_view text(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    const size_t found = text.find(kRecordMagic);
    if (found != std::string_view::npos) return offset + found;
    if (offset + count == size_bytes) break;
    offset += count - (kRecordMagic.size() - 1);  // it may lie across two chunks
  }
  return size_bytes;
}

base::Result<std::optional<FoundRecord>> FileReader::Next(uint64_t offset,
                                                          const Total& read) const {
  while (offset < source_.size_bytes()) {
    ASSIGN_OR_RETURN(const auto header, HeaderAt(offset));
    const uint64_t payload_offset = offset + kRecordHeaderBytes;
    if (!header || !IsOrdered(read, header->before) || header->payload_bytes > record_bytes_max_ ||
        header->payload_bytes > source_.size_bytes() - payload_offset) {
      ASSIGN_OR_RETURN(offset, NextMagic(offset + 1));
      continue;
    }
    FoundRecord found{*header, offset, std::string(header->payload_bytes, '\0')};
    RETURN_IF_ERROR(
        source_.ReadAt(payload_offset, std::as_writable_bytes(std::span(found.payload))));
    if (CheckOf(found.payload) == header->payload_check) return std::optional(std::move(found));
    offset = payload_offset + header->payload_bytes;  // its header is right: the next is behind it
  }
  return std::optional<FoundRecord>();
}

}  // namespace vesta::spool
