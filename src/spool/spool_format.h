// The bytes of a spool file: docs/formats/spool.md has them drawn. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "src/spool/spool.h"

namespace vesta::spool {

inline constexpr uint32_t kFileVersion = 1;
inline constexpr size_t kFileHeaderBytes = 128;
inline constexpr size_t kReadMarkOffset = 64;  // of what was read, within the file's header
inline constexpr size_t kReadMarkBytes = 40;
inline constexpr size_t kRecordHeaderBytes = 88;
inline constexpr std::string_view kFileMagic = "vestaspl";
inline constexpr std::string_view kRecordMagic = "VSPR";

// How much was ever written to the spool before a place in it: the difference of two places is what
// lies between them, whether it can still be read or not.
struct Total {
  uint64_t records = 0;
  uint64_t bytes = 0;  // of payloads
  uint64_t samples = 0;
  friend bool operator==(const Total&, const Total&) = default;
};
// Whether `later` can be a place behind `earlier`, or the same.
bool IsOrdered(const Total& earlier, const Total& later);
// Shape: IsOrdered(from, to).
Amount Between(const Total& from, const Total& to);

struct FileHeader {
  Total start;
  uint64_t boot = 0;  // hash of the boot id of the machine that wrote it
};

struct RecordHeader {
  Total before;  // its sequence is before.records + 1
  RecordKind kind = RecordKind::kBatch;
  uint64_t samples = 0;
  int64_t time_unix_ms = 0;
  int64_t time_boot_ms = 0;
  uint64_t reference = 0;
  uint32_t payload_bytes = 0;
  uint64_t payload_check = 0;

  Total after() const {
    return {before.records + 1, before.bytes + payload_bytes, before.samples + samples};
  }
};

// How far a file was read: what waits begins at this place.
struct ReadMark {
  Total read;
  uint64_t offset = 0;
};

uint64_t CheckOf(std::string_view bytes);

// Shape: no read mark is in it yet.
std::array<char, kFileHeaderBytes> EncodeFileHeader(const FileHeader& header);
std::array<char, kReadMarkBytes> EncodeReadMark(const ReadMark& mark);
std::array<char, kRecordHeaderBytes> EncodeRecordHeader(const RecordHeader& header);

enum class FileKind : uint8_t { kOurs, kNewer, kDamaged };
// kOurs with the header, and the mark where there is one.
FileKind DecodeFileHeader(std::span<const std::byte> bytes, FileHeader* header,
                          std::optional<ReadMark>* mark);
// Nothing when it is none, damaged, or says what cannot be.
std::optional<RecordHeader> DecodeRecordHeader(std::span<const std::byte> bytes);

}  // namespace vesta::spool
