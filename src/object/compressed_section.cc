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

// What the promise of a header is worth before anything is allocated for it.
base::Result<CompressedSection> Checked(CompressedSection section, uint64_t size_bytes_max) {
  if (section.size_bytes > size_bytes_max) {
    return Error(ErrorCode::kExhausted, "a compressed section of " +
                                            std::to_string(section.size_bytes) +
                                            " bytes, more than " + std::to_string(size_bytes_max));
  }
  const uint64_t ratio_max =
      section.method == CompressedSection::Method::kZlib ? kZlibRatioMax : kZstdRatioMax;
  if (section.size_bytes / ratio_max > section.content.size()) {
    return Error(ErrorCode::kCorrupt, "a compressed section that promises too much");
  }
  return section;
}

}  // namespace

base::Result<CompressedSection> ReadCompressedSection(std::span<const std::byte> stored,
                                                      uint64_t size_bytes_max) {
  Elf64_Chdr header;
  if (stored.size() < sizeof(header)) {
    return Error(ErrorCode::kCorrupt, "a compressed section without a header");
  }
  std::memcpy(&header, stored.data(), sizeof(header));
  if (header.ch_type != kZlib && header.ch_type != kZstd) {
    return Error(ErrorCode::kUnsupported,
                 "a section compressed in way " + std::to_string(header.ch_type));
  }
  const auto method =
      header.ch_type == kZlib ? CompressedSection::Method::kZlib : CompressedSection::Method::kZstd;
  return Checked({method, stored.subspan(sizeof(header)), header.ch_size}, size_bytes_max);
}

base::Result<CompressedSection> ReadZdebugSection(std::span<const std::byte> stored,
                                                  uint64_t size_bytes_max) {
  // "ZLIB", and the size as eight bytes, highest first.
  constexpr size_t kHeaderBytes = 12;
  if (stored.size() < kHeaderBytes || std::memcmp(stored.data(), "ZLIB", 4) != 0) {
    return Error(ErrorCode::kCorrupt, "a .zdebug section without a header");
  }
  uint64_t size_bytes = 0;
  for (size_t i = 4; i < kHeaderBytes; ++i) {
    size_bytes = size_bytes << 8 | std::to_integer<uint64_t>(stored[i]);
  }
  return Checked({CompressedSection::Method::kZlib, stored.subspan(kHeaderBytes), size_bytes},
                 size_bytes_max);
}

base::Result<void> DecompressInto(const CompressedSection& section, std::span<std::byte> to) {
  const bool is_good =
      to.size() == section.size_bytes &&
      (section.method == CompressedSection::Method::kZlib ? InflateZlib(section.content, to)
                                                          : InflateZstd(section.content, to));
  if (!is_good) return Error(ErrorCode::kCorrupt, "a compressed section that is damaged");
  return {};
}

base::Result<DecompressedSection> DecompressSection(std::span<const std::byte> stored,
                                                    uint64_t size_bytes_max) {
  ASSIGN_OR_RETURN(const CompressedSection compressed,
                   ReadCompressedSection(stored, size_bytes_max));
  DecompressedSection section;
  section.size_bytes = static_cast<size_t>(compressed.size_bytes);
  section.bytes.reset(new std::byte[section.size_bytes]);  // not zeroed: all of it is written
  RETURN_IF_ERROR(DecompressInto(compressed, {section.bytes.get(), section.size_bytes}));
  return section;
}

}  // namespace vesta::object
