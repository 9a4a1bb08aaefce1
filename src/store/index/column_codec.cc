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
// A plane of so many bytes is worth statistics of its own, which cost about 100 bytes.
constexpr size_t kSplitBytes = 512;
constexpr size_t kRawBytesMax = size_t{512} << 20;
// Readers allocate no more than this for a block of so many bytes, whatever it says of itself.
constexpr size_t kRawBytesFree = size_t{1} << 20;
constexpr size_t kRatioMax = 1024;
constexpr uint32_t kSkippableMagic = 0x184d2a50;  // of a frame that zstd passes over

// The k with values = k x before, or 0.
uint64_t Multiple(std::span<const uint64_t> values, std::span<const uint64_t> before) {
  if (before.size() != values.size()) return 0;
  uint64_t k = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (k == 0 && before[i] != 0) k = values[i] / before[i];
    if (k == 0 && before[i] != 0) return 0;  // a 0 here and none later have no common k
    if (values[i] != k * before[i]) return 0;
  }
  return k;
}

size_t PackedBytesMin(size_t raw_bytes) {
  return raw_bytes <= kRawBytesFree ? 0 : (raw_bytes - kRawBytesFree + kRatioMax - 1) / kRatioMax;
}

// A frame without content behind the one that there is.
void MakeLonger(size_t by, std::vector<std::byte>* file) {
  const uint32_t head[2] = {kSkippableMagic,
                            static_cast<uint32_t>(by - std::min(by, sizeof(head)))};
  const auto* bytes = reinterpret_cast<const std::byte*>(head);
  file->insert(file->end(), bytes, bytes + sizeof(head));
  file->resize(file->size() + head[1]);
}

template <unsigned kWidth, typename T>
void Join(const uint8_t* planes, size_t count, T* values) {
  for (size_t i = 0; i < count; ++i) {
    T value = 0;
    for (unsigned plane = 0; plane < kWidth; ++plane)
      value = static_cast<T>(value | static_cast<T>(planes[plane * count + i]) << (8 * plane));
    values[i] = value;
  }
}

template <typename T>
void JoinPlanes(unsigned width, const uint8_t* planes, size_t count, T* values) {
  switch (width) {
    case 0:
      return Join<0>(planes, count, values);
    case 1:
      return Join<1>(planes, count, values);
    case 2:
      return Join<2>(planes, count, values);
    case 3:
      return Join<3>(planes, count, values);
    case 4:
      return Join<4>(planes, count, values);
    default:
      break;
  }
  if constexpr (sizeof(T) == 8) {
    switch (width) {
      case 5:
        return Join<5>(planes, count, values);
      case 6:
        return Join<6>(planes, count, values);
      case 7:
        return Join<7>(planes, count, values);
      default:
        return Join<8>(planes, count, values);
    }
  }
}

}  // namespace

void ColumnReader::FillPlanes(uint32_t* values, size_t count) const {
  if (!ok()) return;
  JoinPlanes(width_, reinterpret_cast<const uint8_t*>(planes_.data()), count, values);
  if (scale_ == 1) return;
  for (size_t i = 0; i < count; ++i) values[i] *= static_cast<uint32_t>(scale_);
}

void ColumnReader::FillPlanes(uint64_t* values, size_t count) const {
  if (!ok()) return;
  JoinPlanes(width_, reinterpret_cast<const uint8_t*>(planes_.data()), count, values);
  if (scale_ == 1) return;
  for (size_t i = 0; i < count; ++i) values[i] *= scale_;
}

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
    if (values.size() >= kSplitBytes) splits_.push_back(at);
    for (const uint64_t value : values) bytes_[at++] = static_cast<uint8_t>(value >> (8 * i));
  }
  if (width != 0 && values.size() >= kSplitBytes) splits_.push_back(at);
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

struct BlockPacker::Context {
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> zstd{ZSTD_createCCtx(), &ZSTD_freeCCtx};
};

BlockPacker::BlockPacker() : context_(std::make_unique<Context>()) {
  CHECK(context_->zstd != nullptr);
}
BlockPacker::~BlockPacker() = default;

BlockRef BlockPacker::Append(const ColumnWriter& columns, uint32_t rows,
                             std::vector<std::byte>* file) {
  const auto raw = columns.bytes();
  CHECK(raw.size() <= kRawBytesMax);
  ZSTD_CCtx* zstd = context_->zstd.get();
  ZSTD_CCtx_reset(zstd, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setPledgedSrcSize(zstd, raw.size());
  const size_t offset = file->size();
  // Each flush begins a block of zstd, which has an own table of how frequent each byte is.
  constexpr size_t kFlushBytes = 32;
  file->resize(offset + ZSTD_compressBound(raw.size()) + kFlushBytes * columns.splits().size());
  ZSTD_outBuffer out = {file->data() + offset, file->size() - offset, 0};
  ZSTD_inBuffer in = {raw.data(), 0, 0};
  const auto pack = [&](size_t end, ZSTD_EndDirective how) {
    in.size = end;
    CHECK(ZSTD_compressStream2(zstd, &out, &in, how) == 0);
  };
  for (const size_t split : columns.splits()) pack(split, ZSTD_e_flush);
  pack(raw.size(), ZSTD_e_end);
  file->resize(offset + out.pos);
  if (const size_t least = PackedBytesMin(raw.size()); out.pos < least)
    MakeLonger(least - out.pos, file);
  const size_t bytes = file->size() - offset;
  return {offset, static_cast<uint32_t>(bytes), rows, Checksum(file->data() + offset, bytes)};
}

base::Result<RawBlock> ReadBlock(const base::ByteSource& file, const BlockRef& block) {
  const std::string where = "block at byte " + std::to_string(block.offset);
  auto read = file.Read(block.offset, block.bytes);
  if (!read.ok()) return std::move(read).error().Context(where);
  const std::vector<std::byte>& packed = *read;
  if (Checksum(packed.data(), packed.size()) != block.checksum)
    return base::Error(base::ErrorCode::kCorrupt, where + " has a wrong checksum");
  const unsigned long long bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (bytes > kRawBytesMax)  // the two values for errors are larger still
    return base::Error(base::ErrorCode::kCorrupt, where + " does not say its size");
  if (PackedBytesMin(static_cast<size_t>(bytes)) > packed.size())
    return base::Error(base::ErrorCode::kCorrupt, where + " is too short for its size");
  RawBlock raw;
  raw.bytes = static_cast<size_t>(bytes);
  raw.data = std::make_unique_for_overwrite<std::byte[]>(raw.bytes);
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> zstd(ZSTD_createDCtx(),
                                                                             &ZSTD_freeDCtx);
  CHECK(zstd != nullptr);
  if (ZSTD_decompressDCtx(zstd.get(), raw.data.get(), raw.bytes, packed.data(), packed.size()) !=
      raw.bytes)
    return base::Error(base::ErrorCode::kCorrupt, where + " does not unpack");
  return raw;
}

uint64_t Checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

}  // namespace vesta::store::index
