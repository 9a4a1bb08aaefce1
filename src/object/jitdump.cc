#include "src/object/jitdump.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/byte_reader.h"

namespace vesta::object {
namespace {

using base::ByteReader;
using base::ByteSource;
using base::Error;
using base::ErrorCode;
using base::Result;

constexpr uint32_t kMagic = 0x4a695444;
constexpr uint32_t kMagicSwapped = 0x4454694a;
constexpr uint32_t kVersion = 1;
constexpr uint64_t kHeaderBytes = 40;
constexpr uint64_t kHeaderBytesMax = 64 << 10;
constexpr uint64_t kArchClockFlag = 1;

constexpr uint64_t kRecordHeaderBytes = 16;
constexpr uint64_t kLoadBytes = kRecordHeaderBytes + 40;  // up to the name
constexpr uint64_t kMoveBytes = kRecordHeaderBytes + 48;
constexpr uint64_t kDebugBytes = kRecordHeaderBytes + 16;  // up to the entries
constexpr uint64_t kEntryBytes = 17;                       // with the end of an empty name
constexpr std::string_view kSameName = "\xff";

enum : uint32_t { kIdLoad = 0, kIdMove = 1, kIdDebug = 2, kIdClose = 3 };

// How much of a record has to be there before it can be told what it says.
uint64_t FixedBytesOf(uint32_t id) {
  switch (id) {
    case kIdLoad:
      return kLoadBytes;
    case kIdMove:
      return kMoveBytes;
    case kIdDebug:
      return kDebugBytes;
    default:
      return kRecordHeaderBytes;
  }
}

Error BadRecord(uint64_t offset, const char* what) {
  return Error(ErrorCode::kCorrupt, "the jitdump record at " + std::to_string(offset) + " " + what);
}

bool IsRange(uint64_t start, uint64_t size) { return size != 0 && start + size > start; }

Result<void> ReadBody(ByteReader& reader, uint32_t id, JitRecord& record) {
  switch (id) {
    case kIdLoad:
      record.kind = JitRecordKind::kLoad;
      reader.Skip(16);  // pid, tid, and the address again
      record.address = reader.Read<uint64_t>();
      record.size_bytes = reader.Read<uint64_t>();
      record.code_index = reader.Read<uint64_t>();
      break;
    case kIdMove:
      record.kind = JitRecordKind::kMove;
      reader.Skip(16);
      record.old_address = reader.Read<uint64_t>();
      record.address = reader.Read<uint64_t>();
      record.size_bytes = reader.Read<uint64_t>();
      record.code_index = reader.Read<uint64_t>();
      break;
    case kIdDebug:
      record.kind = JitRecordKind::kDebug;
      record.address = reader.Read<uint64_t>();
      return {};
    case kIdClose:
      record.kind = JitRecordKind::kClose;
      return {};
    default:
      return {};
  }
  if (!IsRange(record.address, record.size_bytes)) {
    // Code of no size has no samples; a runtime may say so all the same.
    if (record.size_bytes != 0) return BadRecord(record.offset, "has code that wraps around");
    record.kind = JitRecordKind::kOther;
  }
  return {};
}

}  // namespace

Result<JitDumpHeader> ParseJitDumpHeader(const ByteSource& source) {
  if (source.size_bytes() < kHeaderBytes) {
    return Error(ErrorCode::kCorrupt, "a jitdump file has a header of 40 bytes");
  }
  ASSIGN_OR_RETURN(const auto bytes, source.Read(0, kHeaderBytes));
  ByteReader reader(bytes);
  const auto magic = reader.Read<uint32_t>();
  const auto version = reader.Read<uint32_t>();
  const auto header_bytes = reader.Read<uint32_t>();
  reader.Skip(8);  // machine, padding
  JitDumpHeader header;
  header.pid = reader.Read<uint32_t>();
  reader.Skip(8);  // when the file was made
  header.has_arch_clock = (reader.Read<uint64_t>() & kArchClockFlag) != 0;
  header.records_offset = header_bytes;
  if (magic == kMagicSwapped) {
    return Error(ErrorCode::kUnsupported, "the jitdump file is of a big-endian machine");
  }
  if (magic != kMagic) return Error(ErrorCode::kCorrupt, "no jitdump file");
  if (version != kVersion) {
    return Error(ErrorCode::kUnsupported, "jitdump version " + std::to_string(version));
  }
  if (header_bytes < kHeaderBytes || header_bytes > kHeaderBytesMax) {
    return Error(ErrorCode::kCorrupt, "a jitdump header of " + std::to_string(header_bytes));
  }
  return header;
}

Result<std::optional<JitRecord>> ReadJitRecord(const ByteSource& source, uint64_t offset) {
  const uint64_t size = source.size_bytes();
  if (offset > size || size - offset < kRecordHeaderBytes) return std::optional<JitRecord>();
  std::byte bytes[kMoveBytes];
  const std::span<std::byte> there(bytes, std::min<uint64_t>(sizeof(bytes), size - offset));
  RETURN_IF_ERROR(source.ReadAt(offset, there));
  ByteReader reader(there);
  const auto id = reader.Read<uint32_t>();
  const uint64_t record_bytes = reader.Read<uint32_t>();
  JitRecord record;
  record.offset = offset;
  record.end_offset = offset + record_bytes;
  record.time_ns = reader.Read<uint64_t>();
  if (record_bytes < FixedBytesOf(id)) return BadRecord(offset, "is too short");
  if (there.size() < FixedBytesOf(id)) return std::optional<JitRecord>();
  RETURN_IF_ERROR(ReadBody(reader, id, record));
  return std::optional<JitRecord>(record);
}

Result<std::string> ReadJitName(const ByteSource& source, const JitRecord& load) {
  const uint64_t start = load.offset + kLoadBytes;
  const uint64_t end = std::min(load.end_offset, source.size_bytes());
  if (start >= end) return BadRecord(load.offset, "has no name");
  std::string name(static_cast<size_t>(std::min<uint64_t>(end - start, kJitNameBytesMax + 1)), 0);
  RETURN_IF_ERROR(
      source.ReadAt(start, std::as_writable_bytes(std::span(name.data(), name.size()))));
  const size_t length = name.find('\0');
  if (length == std::string::npos && name.size() <= kJitNameBytesMax) {
    return BadRecord(load.offset, "has a name without an end");
  }
  name.resize(std::min(length, kJitNameBytesMax));
  return name;
}

Result<std::optional<JitLine>> FindJitLine(const ByteSource& source, const JitRecord& debug,
                                           uint64_t address) {
  const uint64_t record_bytes = debug.end_offset - debug.offset;
  const bool is_cut = record_bytes > kJitDebugBytesMax;
  ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                   source.Read(debug.offset, std::min(record_bytes, kJitDebugBytesMax)));
  ByteReader reader(bytes);
  reader.Skip(kRecordHeaderBytes + 8);
  const auto count = reader.Read<uint64_t>();
  if (count > (record_bytes - kDebugBytes) / kEntryBytes) {
    return BadRecord(debug.offset, "has fewer lines than it says");
  }
  std::optional<JitLine> found;
  std::string_view file;
  std::string_view found_file;
  uint64_t found_address = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const auto start = reader.Read<uint64_t>();
    const auto line = reader.Read<uint32_t>();
    reader.Skip(4);
    const std::string_view name = reader.ReadCString();
    if (!reader.ok()) break;
    if (name != kSameName) file = name;
    if (start > address || (found && start < found_address)) continue;
    found_address = start;
    found_file = file;
    found.emplace().line = line;
  }
  if (!reader.ok() && !is_cut) return BadRecord(debug.offset, "has a line that does not fit");
  if (found) found->file = found_file.substr(0, kJitNameBytesMax);
  return found;
}

}  // namespace vesta::object
