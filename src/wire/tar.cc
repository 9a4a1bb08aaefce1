#include "src/wire/tar.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "src/base/check.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr size_t kBlockBytes = 512;
constexpr size_t kNameBytes = 100;
constexpr size_t kModeOffset = 100;
constexpr size_t kUidOffset = 108;
constexpr size_t kGidOffset = 116;
constexpr size_t kSizeOffset = 124;
constexpr size_t kSizeBytes = 12;
constexpr size_t kTimeOffset = 136;
constexpr size_t kChecksumOffset = 148;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kKindOffset = 156;
constexpr size_t kMagicOffset = 257;
constexpr std::string_view kMagic = "ustar";
constexpr size_t kVersionOffset = 263;
constexpr uint64_t kFileBytesMax = (uint64_t{8} << 30) - 1;

// The sum of a header's bytes, its own field taken for blanks.
uint32_t Checksum(std::string_view header) {
  uint32_t sum = 0;
  for (size_t i = 0; i < kBlockBytes; ++i) {
    const bool is_own = i >= kChecksumOffset && i < kChecksumOffset + kChecksumBytes;
    sum += is_own ? uint32_t{' '} : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

// Octal digits, with blanks before and blanks or zeros behind.
std::optional<uint64_t> ParseOctal(std::string_view field) {
  size_t i = 0;
  while (i < field.size() && field[i] == ' ') ++i;
  uint64_t value = 0;
  const size_t first = i;
  for (; i < field.size() && field[i] >= '0' && field[i] <= '7'; ++i)
    value = value * 8 + static_cast<uint64_t>(field[i] - '0');
  if (i == first) return std::nullopt;
  for (; i < field.size(); ++i) {
    if (field[i] != ' ' && field[i] != '\0') return std::nullopt;
  }
  return value;
}

bool IsHeader(std::string_view block) {
  if (block.size() < kBlockBytes || block.substr(kMagicOffset, kMagic.size()) != kMagic)
    return false;
  return ParseOctal(block.substr(kChecksumOffset, kChecksumBytes)) == Checksum(block);
}

bool IsZero(std::string_view block) {
  return std::all_of(block.begin(), block.end(), [](char byte) { return byte == '\0'; });
}

Error Damaged(size_t offset, const std::string& what) {
  return Error(ErrorCode::kCorrupt,
               "the archive is damaged at byte " + std::to_string(offset) + ": " + what);
}

}  // namespace

void TarWriter::Add(std::string_view name, std::string_view bytes) {
  CHECK(!name.empty() && name.size() <= kNameBytes);
  CHECK(bytes.size() <= kFileBytesMax);
  std::string header(kBlockBytes, '\0');
  const auto set = [&header](size_t offset, std::string_view text) {
    header.replace(offset, text.size(), text);
  };
  char size[kSizeBytes];
  std::snprintf(size, sizeof(size), "%011llo", static_cast<unsigned long long>(bytes.size()));
  set(0, name);
  set(kModeOffset, "0000644");
  set(kUidOffset, "0000000");
  set(kGidOffset, "0000000");
  set(kSizeOffset, size);
  set(kTimeOffset, "00000000000");
  set(kKindOffset, "0");
  set(kMagicOffset, kMagic);
  set(kVersionOffset, "00");
  char checksum[kChecksumBytes];
  std::snprintf(checksum, sizeof(checksum), "%06o", Checksum(header));
  set(kChecksumOffset, checksum);
  header[kChecksumOffset + kChecksumBytes - 1] = ' ';
  out_ += header;
  out_ += bytes;
  out_.append((kBlockBytes - bytes.size() % kBlockBytes) % kBlockBytes, '\0');
}

std::string TarWriter::Finish() {
  out_.append(2 * kBlockBytes, '\0');
  std::string whole;
  whole.swap(out_);
  return whole;
}

bool IsTar(std::string_view bytes) { return IsHeader(bytes.substr(0, kBlockBytes)); }

Result<std::vector<TarEntry>> ReadTar(std::string_view bytes) {
  std::vector<TarEntry> entries;
  size_t offset = 0;
  while (true) {
    if (bytes.size() - offset < kBlockBytes) return Damaged(offset, "it ends without its end mark");
    const std::string_view header = bytes.substr(offset, kBlockBytes);
    if (IsZero(header)) return entries;
    if (!IsHeader(header)) return Damaged(offset, "there is no header of a file");
    const auto size = ParseOctal(header.substr(kSizeOffset, kSizeBytes));
    if (!size) return Damaged(offset + kSizeOffset, "the size of a file is no number");
    offset += kBlockBytes;
    if (*size > bytes.size() - offset) return Damaged(offset, "a file is cut");
    if (header[kKindOffset] == '0' || header[kKindOffset] == '\0') {
      const std::string_view name = header.substr(0, kNameBytes);
      entries.push_back({name.substr(0, name.find('\0')), bytes.substr(offset, *size)});
    }
    const size_t padded = (*size + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    offset += std::min(padded, bytes.size() - offset);
  }
}

}  // namespace vesta::wire
