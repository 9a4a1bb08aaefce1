#include "src/store/index/column_codec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "src/base/check.h"

namespace vesta::store::index {
namespace {

constexpr uint8_t kScaled = 0x10;
constexpr uint8_t kAsBefore = 0x20;
constexpr int kLevel = 3;
constexpr size_t kRawBytesMax = size_t{512} << 20;

// The k with values = k x before, or 0.
uint64_t Multiple(std::span<const uint64_t> values, std::span<const uint64_t> before) {
  if (before.size() != values.size()) return 0;
  uint64_t k = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (k == 0 && before[i] != 0) k = values[i] / before[i];
    if (values[i] != k * before[i]) return 0;
  }
  return k;
}

}  // namespace

void ColumnWriter::PutNumber(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<uint8_t>(value | 0x80));
  bytes_.push_back(static_cast<uint8_t>(value));
}

void ColumnWriter::PutBytes(const void* data, size_t bytes) {
  const auto* begin = static_cast<const uint8_t*>(data);
  bytes_.insert(bytes_.end(), begin, begin + bytes);
}

void ColumnWriter::PutPlanes(std::span<const uint64_t> values, uint8_t flags, uint64_t scale,
                             unsigned width_min) {
  std::vector<uint64_t> quotients;
  if (scale != 1) {
    quotients.assign(values.begin(), values.end());
    for (uint64_t& value : quotients) value /= scale;
    values = quotients;
  }
  uint64_t all = 0;
  for (const uint64_t value : values) all |= value;
  const unsigned width = std::max(static_cast<unsigned>(std::bit_width(all) + 7) / 8, width_min);
  bytes_.push_back(static_cast<uint8_t>(flags | width));
  if ((flags & kScaled) != 0) PutNumber(scale);
  size_t at = bytes_.size();
  bytes_.resize(at + width * values.size());
  for (unsigned i = 0; i < width; ++i) {
    for (const uint64_t value : values) bytes_[at++] = static_cast<uint8_t>(value >> (8 * i));
  }
}

void ColumnWriter::Put(std::span<const uint64_t> values, unsigned width_min) {
  PutPlanes(values, 0, 1, width_min);
}

void ColumnWriter::PutScaled(std::span<const uint64_t> values, std::span<const uint64_t> before) {
  if (const uint64_t k = Multiple(values, before); k != 0) {
    bytes_.push_back(kScaled | kAsBefore);
    PutNumber(k);
    return;
  }
  uint64_t factor = 0;
  for (const uint64_t value : values) {
    factor = std::gcd(factor, value);
    if (factor == 1) break;
  }
  if (factor <= 1) return PutPlanes(values, 0, 1, 0);
  PutPlanes(values, kScaled, factor, 0);
}

unsigned ColumnReader::ReadHead(size_t width_max, size_t count) {
  const auto head = reader_.Read<uint8_t>();
  width_ = head & 0x0fu;
  is_as_before_ = (head & kAsBefore) != 0;
  scale_ = (head & kScaled) != 0 ? reader_.ReadUleb128() : 1;
  if (width_ > width_max || (head & ~(0x0fu | kScaled | kAsBefore)) != 0) Fail();
  if (is_as_before_ && width_ != 0) Fail();
  if (width_ != 0 && count > remaining() / width_) Fail();
  if (!ok()) width_ = 0;
  planes_ = reader_.ReadBytes(width_ * count);
  return width_;
}

void ColumnReader::ReadScaled(int64_t* values, const int64_t* before, size_t count) {
  ReadHead(sizeof(int64_t), count);
  // Signed and unsigned forms of a type may stand for each other.
  auto* unsigned_values = reinterpret_cast<uint64_t*>(values);
  if (!is_as_before_) return FillPlanes(unsigned_values, count);
  if (before == nullptr) Fail();
  if (!ok()) return;
  for (size_t i = 0; i < count; ++i) unsigned_values[i] = static_cast<uint64_t>(before[i]) * scale_;
}

BlockRef AppendBlock(std::span<const uint8_t> raw, uint32_t rows, std::vector<std::byte>* file) {
  CHECK(raw.size() <= kRawBytesMax);
  const size_t offset = file->size();
  file->resize(offset + ZSTD_compressBound(raw.size()));
  const size_t packed =
      ZSTD_compress(file->data() + offset, file->size() - offset, raw.data(), raw.size(), kLevel);
  CHECK(ZSTD_isError(packed) == 0);
  file->resize(offset + packed);
  return {offset, static_cast<uint32_t>(packed), rows, Checksum(file->data() + offset, packed)};
}

base::Result<RawBlock> ReadBlock(std::span<const std::byte> file, const BlockRef& block) {
  const std::string where = "block at byte " + std::to_string(block.offset);
  if (block.offset > file.size() || block.bytes > file.size() - block.offset)
    return base::Error(base::ErrorCode::kCorrupt, where + " is outside of the file");
  const auto packed = file.subspan(static_cast<size_t>(block.offset), block.bytes);
  if (Checksum(packed.data(), packed.size()) != block.checksum)
    return base::Error(base::ErrorCode::kCorrupt, where + " has a wrong checksum");
  const unsigned long long bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (bytes > kRawBytesMax)  // the two values for errors are larger still
    return base::Error(base::ErrorCode::kCorrupt, where + " does not say its size");
  RawBlock raw;
  raw.bytes = static_cast<size_t>(bytes);
  raw.data = std::make_unique_for_overwrite<std::byte[]>(raw.bytes);
  if (ZSTD_decompress(raw.data.get(), raw.bytes, packed.data(), packed.size()) != raw.bytes)
    return base::Error(base::ErrorCode::kCorrupt, where + " does not unpack");
  return raw;
}

uint64_t Checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

}  // namespace vesta::store::index
