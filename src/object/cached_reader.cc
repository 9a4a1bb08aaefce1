#include "src/object/cached_reader.h"

#include <algorithm>

namespace vesta::object {

CachedReader::CachedReader(const base::ByteSource& source, uint64_t file_offset,
                           uint64_t size_bytes)
    : source_(&source),
      file_offset_(std::min(file_offset, source.size_bytes())),
      size_bytes_(std::min(size_bytes, source.size_bytes() - file_offset_)) {}

size_t CachedReader::memory_bytes() const {
  size_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.bytes.capacity();
  return bytes;
}

std::span<const std::byte> CachedReader::BlockFrom(uint64_t offset) {
  if (offset >= size_bytes_) return {};
  const uint64_t number = offset / kBlockBytes;
  Block& block = blocks_[number % kBlocks];
  if (block.number != number) {
    const uint64_t start = number * kBlockBytes;
    block.bytes.resize(static_cast<size_t>(std::min<uint64_t>(kBlockBytes, size_bytes_ - start)));
    if (!source_->ReadAt(file_offset_ + start, block.bytes).ok()) {
      block.number = ~uint64_t{0};
      return {};
    }
    block.number = number;
  }
  return std::span<const std::byte>(block.bytes).subspan(static_cast<size_t>(offset % kBlockBytes));
}

bool CachedReader::ReadBytes(uint64_t offset, std::span<std::byte> out) {
  if (offset > size_bytes_ || out.size() > size_bytes_ - offset) return false;
  while (!out.empty()) {
    const auto part = BlockFrom(offset);
    if (part.empty()) return false;
    const size_t size = std::min(part.size(), out.size());
    std::memcpy(out.data(), part.data(), size);
    out = out.subspan(size);
    offset += size;
  }
  return true;
}

std::string CachedReader::ReadCString(uint64_t offset, size_t size_max) {
  std::string text;
  for (;;) {
    const auto part = BlockFrom(offset + text.size());
    if (part.empty()) return {};
    const auto end = std::find(part.begin(), part.end(), std::byte{0});
    text.append(reinterpret_cast<const char*>(part.data()),
                static_cast<size_t>(end - part.begin()));
    if (text.size() >= size_max) {
      text.resize(size_max);
      return text;
    }
    if (end != part.end()) return text;
  }
}

}  // namespace vesta::object
