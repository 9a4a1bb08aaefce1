// Random access to a part of a foreign file through a small cache of blocks, for tables that are
// too large to hold and of which only a few places are wanted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/byte_source.h"

namespace vesta::object {

// Shape:  offsets count from the start of the part.
// Owner:  one thread; the source outlives the reader.
// Cost:   at most kBlockBytes * kBlocks of memory, taken as it is needed; one read of a block per
//         miss.
// Errors: what lies outside the part or cannot be read is empty.
class CachedReader {
 public:
  // The part is cut at the end of the source.
  CachedReader(const base::ByteSource& source, uint64_t file_offset, uint64_t size_bytes);

  uint64_t size_bytes() const { return size_bytes_; }
  size_t memory_bytes() const;

  template <typename T>
  std::optional<T> Read(uint64_t offset) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kBlockBytes);
    T value;
    if (!ReadBytes(offset, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }
  bool ReadBytes(uint64_t offset, std::span<std::byte> out);

  // Up to the NUL; cut at size_max. Empty also when there is no NUL before the end.
  std::string ReadCString(uint64_t offset, size_t size_max);

  // The bytes from the offset to the end of its block: valid until the next call.
  std::span<const std::byte> BlockFrom(uint64_t offset);

  static constexpr size_t kBlockBytes = 16 << 10;
  static constexpr size_t kBlocks = 64;

 private:
  struct Block {
    uint64_t number = ~uint64_t{0};
    std::vector<std::byte> bytes;
  };
  const base::ByteSource* source_;
  uint64_t file_offset_;
  uint64_t size_bytes_;
  std::array<Block, kBlocks> blocks_;
};

}  // namespace vesta::object
