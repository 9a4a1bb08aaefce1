// Numbers as columns of byte planes, and blocks of them packed with zstd.
//
// column  = head, [scale], planes
//   head  u8: low nibble = width in bytes (0..8); kScaled: LEB128 of scale follows and each value
//   is
//         multiplied by it; kAsBefore: no planes, values are those of the column named by the
//         format, times scale
//   planes: width x n bytes, the lowest byte of all values first
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/byte_reader.h"
#include "src/base/byte_source.h"
#include "src/base/result.h"

namespace vesta::store::index {

constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Owner: one thread; Clear() keeps the memory.
class ColumnWriter {
 public:
  void PutNumber(uint64_t value);  // LEB128
  void PutBytes(const void* data, size_t bytes);
  // width_min = 1 lets a reader bound the rows by the bytes.
  void Put(std::span<const uint64_t> values, unsigned width_min = 0);
  // Finds the largest common factor; `before` may be another column of the same rows of which this
  // one is often a multiple.
  void PutScaled(std::span<const uint64_t> values, std::span<const uint64_t> before = {});
  void Clear() {
    bytes_.clear();
    splits_.clear();
  }
  std::span<const uint8_t> bytes() const { return bytes_; }
  // Where long planes begin: bytes on both sides are of different kinds.
  std::span<const size_t> splits() const { return splits_; }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  void PutPlanes(std::span<const uint64_t> values, uint8_t flags, uint64_t scale,
                 unsigned width_min);
  std::vector<uint8_t> bytes_;
  std::vector<size_t> splits_;
};

// Fails like ByteReader: the caller checks ok() before it believes anything.
class ColumnReader {
 public:
  explicit ColumnReader(std::span<const std::byte> bytes) : reader_(bytes) {}

  bool ok() const { return reader_.ok(); }
  bool AtEnd() const { return reader_.AtEnd(); }
  size_t remaining() const { return reader_.remaining(); }
  uint64_t ReadNumber() { return reader_.ReadUleb128(); }
  std::span<const std::byte> ReadBytes(size_t count) { return reader_.ReadBytes(count); }
  void Fail() { reader_.Fail(); }

  // Reads a column that was put with width_min 1: nothing is allocated for more rows than bytes.
  template <typename T>
  std::vector<T> ReadBounded(size_t count) {
    if (count > remaining()) Fail();
    if (!ok()) return {};
    std::vector<T> values(count);
    if (ReadHead(sizeof(T), count) == 0 && count != 0) Fail();
    FillPlanes(values.data(), count);
    return values;
  }
  // Reads into memory for `count` rows.
  template <typename T>
  void Read(T* values, size_t count) {
    ReadHead(sizeof(T), count);
    FillPlanes(values, count);
  }
  // `before` as given to PutScaled, or nullptr.
  void ReadScaled(int64_t* values, const int64_t* before, size_t count);

 private:
  unsigned ReadHead(size_t width_max, size_t count);
  void FillPlanes(uint32_t* values, size_t count) const;
  void FillPlanes(uint64_t* values, size_t count) const;

  base::ByteReader reader_;
  unsigned width_ = 0;
  bool is_as_before_ = false;
  uint64_t scale_ = 1;
  std::span<const std::byte> planes_;
};

// Where a block lies in its file.
struct BlockRef {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t rows = 0;
  uint64_t checksum = 0;  // XXH3 of the packed bytes
};

// Packs blocks.
// Owner: one thread; keep it, since its memory is dear to make.
class BlockPacker {
 public:
  BlockPacker();
  ~BlockPacker();
  // Appends what the columns hold to the file; the rows are only noted. What packs better than
  // readers let pass is made longer.
  BlockRef Append(const ColumnWriter& columns, uint32_t rows, std::vector<std::byte>* file);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

struct RawBlock {
  std::unique_ptr<std::byte[]> data;
  size_t bytes = 0;
  std::span<const std::byte> span() const { return {data.get(), bytes}; }
};
// Cost:   never more memory than 1 MiB + 1,024 x the bytes of the block.
// Errors: Corrupt: outside of the file, a wrong checksum, or not what zstd wrote; Unavailable when
//         the file cannot be read there.
base::Result<RawBlock> ReadBlock(const base::ByteSource& file, const BlockRef& block);

uint64_t Checksum(const void* data, size_t bytes);

}  // namespace vesta::store::index
