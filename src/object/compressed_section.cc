#include "src/object/compressed_section.h"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <string>

namespace vesta::object {
namespace {

using base::Error;
using base::ErrorCode;

constexpr uint32_t kZlib = 1;  // ELFCOMPRESS_ZLIB
constexpr uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD, which elf.h of Debian 12 does not have
// Neither format can do better: zlib's limit is 1032:1; zstd repeats a block of 128 KiB in 4 bytes.
constexpr uint64_t kZlibRatioMax = 1032;
constexpr uint64_t kZstdRatioMax = 32'768;

bool InflateZlib(std::span<const std::byte> from, std::span<std::byte> to) {
  uLongf size = to.size();
  const int result = ::uncompress(reinterpret_cast<Bytef*>(to.data()), &size,
                                  reinterpret_cast<const Bytef*>(from.data()), from.size());
  return result == Z_OK && size == to.size();
}

bool InflateZstd(std::span<const std::byte> from, std::span<std::byte> to) {
  return ::ZSTD_decompress(to.data(), to.size(), from.data(), from.size()) == to.size();
}

}  // namespace

base::Result<DecompressedSection> DecompressSection(std::span<const std::byte> stored,
                                                    uint64_t size_bytes_max) {
  Elf64_Chdr header;
  if (stored.size() < sizeof(header)) {
    return Error(ErrorCode::kCorrupt, "a compressed section without a header");
  }
  std::memcpy(&header, stored.data(), sizeof(header));
  const auto from = stored.subspan(sizeof(header));
  if (header.ch_type != kZlib && header.ch_type != kZstd) {
    return Error(ErrorCode::kUnsupported,
                 "a section compressed in way " + std::to_string(header.ch_type));
  }
  if (header.ch_size > size_bytes_max) {
    return Error(ErrorCode::kExhausted, "a compressed section of " +
                                            std::to_string(header.ch_size) + " bytes, more than " +
                                            std::to_string(size_bytes_max));
  }
  const uint64_t ratio_max = header.ch_type == kZlib ? kZlibRatioMax : kZstdRatioMax;
  if (header.ch_size / ratio_max > from.size()) {
    return Error(ErrorCode::kCorrupt, "a compressed section that promises too much");
  }
  DecompressedSection section;
  section.size_bytes = static_cast<size_t>(header.ch_size);
  section.bytes.reset(new std::byte[section.size_bytes]);  // not zeroed: all of it is written
  const std::span<std::byte> to(section.bytes.get(), section.size_bytes);
  const bool is_good = header.ch_type == kZlib ? InflateZlib(from, to) : InflateZstd(from, to);
  if (!is_good) return Error(ErrorCode::kCorrupt, "a compressed section that is damaged");
  return section;
}

}  // namespace vesta::object
