// A column that only grows and never moves what it holds.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "src/base/check.h"

namespace vesta::store::index {

// Shape: chunk k holds kFirst << k elements, so an aligned run of kFirst is contiguous.
// Owner: one thread appends; others may read at the same time whatever is below a size() they saw.
// Cost:  reading is two loads; memory is touched only as it is used.
template <typename T, uint32_t kFirst>
class Chunked {
  static_assert(std::is_trivially_copyable_v<T> && std::has_single_bit(kFirst));

 public:
  Chunked() = default;
  // Moving is for an owner that nobody else reads.
  Chunked(Chunked&& other) noexcept
      : chunks_(std::move(other.chunks_)), size_(other.size_.exchange(0)) {}
  Chunked& operator=(Chunked&& other) noexcept {
    chunks_ = std::move(other.chunks_);
    size_ = other.size_.exchange(0);
    return *this;
  }

  uint32_t size() const { return size_.load(std::memory_order_acquire); }

  const T& operator[](uint32_t index) const {
    const Place at = Find(index);
    return chunks_[at.chunk][at.offset];
  }

  // The elements of [first, first + count), which must lie in one chunk.
  std::span<const T> Run(uint32_t first, uint32_t count) const {
    if (count == 0) return {};
    const Place at = Find(first);
    DCHECK(at.offset + count <= size_t{kFirst} << at.chunk);
    return {chunks_[at.chunk].get() + at.offset, count};
  }

  uint32_t Append(const T& value) {
    const uint32_t index = size_.load(std::memory_order_relaxed);
    Slot(index) = value;
    size_.store(index + 1, std::memory_order_release);
    return index;
  }

  // Appends all of them to one chunk, after a gap of T{} where the current one has no room.
  // Returns the index of the first.
  uint32_t AppendRun(std::span<const T> values) {
    uint32_t index = size_.load(std::memory_order_relaxed);
    if (values.empty()) return index;
    for (Place at = Find(index); at.offset + values.size() > size_t{kFirst} << at.chunk;
         at = Find(index)) {
      for (; at.offset < size_t{kFirst} << at.chunk; ++at.offset, ++index) Slot(index) = T{};
    }
    for (const T& value : values) Slot(index++) = value;
    size_.store(index, std::memory_order_release);
    return index - static_cast<uint32_t>(values.size());
  }

  size_t memory_bytes() const { return size() * sizeof(T); }

 private:
  struct Place {
    uint32_t chunk;
    size_t offset;
  };
  static Place Find(uint32_t index) {
    const uint64_t position = uint64_t{index} + kFirst;
    const auto chunk = static_cast<uint32_t>(std::bit_width(position)) - std::bit_width(kFirst);
    return {chunk, static_cast<size_t>(position - (uint64_t{kFirst} << chunk))};
  }
  T& Slot(uint32_t index) {
    const Place at = Find(index);
    if (chunks_[at.chunk] == nullptr)
      chunks_[at.chunk] = std::make_unique_for_overwrite<T[]>(size_t{kFirst} << at.chunk);
    return chunks_[at.chunk][at.offset];
  }

  std::array<std::unique_ptr<T[]>, 33> chunks_;
  std::atomic<uint32_t> size_{0};
};

}  // namespace vesta::store::index
