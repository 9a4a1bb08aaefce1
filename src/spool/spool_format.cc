#include "src/spool/spool_format.h"

#include <cstring>
#include <limits>

#include "src/base/byte_reader.h"
#include "src/base/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vesta::spool {
namespace {

// Appends values to an array of a fixed size.
template <size_t kBytes>
class Writer {
 public:
  void Text(std::string_view text) { Put(text.data(), text.size()); }
  template <typename T>
  void Number(T value) {
    Put(&value, sizeof(value));
  }
  // Of all that was written from `begin` on.
  void Check(size_t begin) { Number(CheckOf({bytes_.data() + begin, size_ - begin})); }
  size_t size() const { return size_; }
  const std::array<char, kBytes>& bytes() const { return bytes_; }

 private:
  void Put(const void* bytes, size_t size) {
    CHECK(size <= kBytes - size_);
    std::memcpy(bytes_.data() + size_, bytes, size);
    size_ += size;
  }
  std::array<char, kBytes> bytes_ = {};
  size_t size_ = 0;
};

template <size_t kBytes>
void WriteTotal(const Total& total, Writer<kBytes>& out) {
  out.Number(total.records);
  out.Number(total.bytes);
  out.Number(total.samples);
}

Total ReadTotal(base::ByteReader& in) {
  Total total;
  total.records = in.Read<uint64_t>();
  total.bytes = in.Read<uint64_t>();
  total.samples = in.Read<uint64_t>();
  return total;
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Whether the bytes from `begin` up to the reader's place have the check that comes next.
bool IsChecked(std::span<const std::byte> bytes, size_t begin, base::ByteReader& in) {
  const size_t end = in.position();
  const auto check = in.Read<uint64_t>();
  return in.ok() && check == CheckOf(TextOf(bytes.subspan(begin, end - begin)));
}

// Small enough that sums do not overflow: nobody has written so much.
bool IsPlausible(const Total& total) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max() / 2;
  return total.records <= kMax && total.bytes <= kMax && total.samples <= kMax;
}

}  // namespace

bool IsOrdered(const Total& earlier, const Total& later) {
  return earlier.records <= later.records && earlier.bytes <= later.bytes &&
         earlier.samples <= later.samples;
}

Amount Between(const Total& from, const Total& to) {
  CHECK(IsOrdered(from, to));
  return {to.records - from.records, to.bytes - from.bytes, to.samples - from.samples};
}

uint64_t CheckOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::array<char, kFileHeaderBytes> EncodeFileHeader(const FileHeader& header) {
  Writer<kFileHeaderBytes> out;
  out.Text(kFileMagic);
  out.Number(kFileVersion);
  out.Number(static_cast<uint32_t>(CheckOf({out.bytes().data(), out.size()})));
  const size_t begin = out.size();
  WriteTotal(header.start, out);
  out.Number(header.boot);
  out.Check(begin);
  return out.bytes();
}

std::array<char, kReadMarkBytes> EncodeReadMark(const ReadMark& mark) {
  Writer<kReadMarkBytes> out;
  WriteTotal(mark.read, out);
  out.Number(mark.offset);
  out.Check(0);
  return out.bytes();
}

std::array<char, kRecordHeaderBytes> EncodeRecordHeader(const RecordHeader& header) {
  Writer<kRecordHeaderBytes> out;
  out.Text(kRecordMagic);
  out.Number(header.payload_bytes);
  WriteTotal(header.before, out);
  out.Number(header.samples);
  out.Number(header.time_unix_ms);
  out.Number(header.time_boot_ms);
  out.Number(header.reference);
  out.Number(static_cast<uint64_t>(header.kind));
  out.Number(header.payload_check);
  out.Check(0);
  return out.bytes();
}

FileKind DecodeFileHeader(std::span<const std::byte> bytes, FileHeader* header,
                          std::optional<ReadMark>* mark) {
  base::ByteReader in(bytes);
  if (TextOf(in.ReadBytes(kFileMagic.size())) != kFileMagic) return FileKind::kDamaged;
  const auto version = in.Read<uint32_t>();
  const size_t checked = in.position();
  const auto check = in.Read<uint32_t>();
  if (!in.ok() || check != static_cast<uint32_t>(CheckOf(TextOf(bytes.first(checked))))) {
    return FileKind::kDamaged;
  }
  if (version > kFileVersion) return FileKind::kNewer;
  const size_t begin = in.position();
  header->start = ReadTotal(in);
  header->boot = in.Read<uint64_t>();
  if (!IsChecked(bytes, begin, in) || !IsPlausible(header->start)) return FileKind::kDamaged;
  in.Seek(kReadMarkOffset);
  ReadMark read;
  read.read = ReadTotal(in);
  read.offset = in.Read<uint64_t>();
  if (IsChecked(bytes, kReadMarkOffset, in) && IsPlausible(read.read)) *mark = read;
  return FileKind::kOurs;
}

std::optional<RecordHeader> DecodeRecordHeader(std::span<const std::byte> bytes) {
  base::ByteReader in(bytes);
  if (TextOf(in.ReadBytes(kRecordMagic.size())) != kRecordMagic) return std::nullopt;
  RecordHeader header;
  header.payload_bytes = in.Read<uint32_t>();
  header.before = ReadTotal(in);
  header.samples = in.Read<uint64_t>();
  header.time_unix_ms = in.Read<int64_t>();
  header.time_boot_ms = in.Read<int64_t>();
  header.reference = in.Read<uint64_t>();
  const auto kind = in.Read<uint64_t>();
  header.payload_check = in.Read<uint64_t>();
  if (!IsChecked(bytes, 0, in)) return std::nullopt;
  if (kind != static_cast<uint64_t>(RecordKind::kBatch) &&
      kind != static_cast<uint64_t>(RecordKind::kSymbols)) {
    return std::nullopt;
  }
  header.kind = static_cast<RecordKind>(kind);
  const bool is_plausible = IsPlausible(header.before) && IsPlausible({0, 0, header.samples}) &&
                            IsPlausible(header.after()) &&
                            header.reference <= header.before.records;
  if (!is_plausible) return std::nullopt;
  return header;
}

}  // namespace vesta::spool
