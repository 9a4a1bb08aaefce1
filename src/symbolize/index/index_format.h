// The bytes of a symbol index: what its writer and its reader agree on. Drawn with its reasons in
// docs/formats/symbol_index.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace vesta::symbolize {

inline constexpr std::array<char, 8> kIndexMagic = {'v', 'e', 's', 't', 'a', 's', 'y', 'm'};
inline constexpr uint32_t kIndexVersion = 1;

// Addresses are looked up in pages of 2^shift bytes of code. Small ones hold some twenty changes;
// the largest bounds what one look-up reads, and what a wide but empty image costs.
inline constexpr uint32_t kPageShiftMin = 6;
inline constexpr uint32_t kPageShiftMax = 12;
inline constexpr size_t kPlaceBytesMax = 21;  // of one change: 1 + 4 numbers

enum class IndexSection : uint32_t {
  kIdentity,   // text
  kPages,      // u32 per page and one more: where its changes begin in kPlaces
  kPlaces,     // changes, page by page
  kNodes,      // functions and copies inlined into them
  kFunctions,  // FunctionRecord
  kFiles,      // u32: string
  kStrings,    // length as ULEB128, bytes
};
inline constexpr size_t kIndexSectionCount = 7;

struct SectionEntry {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  uint64_t checksum = 0;  // XXH3, 64 bits
};

struct IndexHeader {
  std::array<char, 8> magic{};
  uint32_t version = 0;
  uint32_t page_shift = 0;
  uint64_t file_bytes = 0;
  uint64_t base = 0;        // image address of offset 0
  uint64_t span_bytes = 0;  // of code, below 2^32
  std::array<SectionEntry, kIndexSectionCount> sections;
  uint64_t checksum = 0;  // XXH3 of all before it
};
static_assert(sizeof(IndexHeader) == 40 + kIndexSectionCount * 24 + 8);

// Strings are offsets into kStrings, files places in kFiles. String 0 is the empty one, file 0 and
// function 0 are those that are not known.
struct FunctionRecord {
  uint32_t name = 0;
  uint32_t linkage_name = 0;
  uint32_t file = 0;
  uint32_t start_line = 0;
};
static_assert(sizeof(FunctionRecord) == 16);

// First byte of a change in kPlaces: which numbers follow it, and how far it is from the last one.
inline constexpr uint8_t kNodeFollows = 1;
inline constexpr uint8_t kFileFollows = 2;
inline constexpr uint32_t kDistanceShift = 2;
inline constexpr uint32_t kDistanceFollows = 63;  // the rest as a number, before all others

using IndexBytes = std::span<const std::byte>;

// A cursor over numbers of variable length. After the first one that does not fit it is failed,
// stands at the end and gives zeros.
class NumberReader {
 public:
  explicit NumberReader(IndexBytes bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == end_; }
  std::span<const std::byte> Rest() const { return {at_, end_}; }

  uint8_t Byte() {
    if (at_ == end_) {
      ok_ = false;
      return 0;
    }
    return std::to_integer<uint8_t>(*at_++);
  }
  uint32_t Unsigned() {
    uint32_t value = Byte();
    if (value < 0x80) return value;
    value &= 0x7f;
    for (unsigned shift = 7; shift < 35; shift += 7) {
      const uint32_t byte = Byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    at_ = end_;
    ok_ = false;
    return 0;
  }
  // A difference of two 32-bit numbers, small ones of either sign short.
  uint32_t Difference() {
    const uint32_t value = Unsigned();
    return (value >> 1) ^ (0u - (value & 1));
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

inline void AppendByte(std::vector<std::byte>& out, uint32_t value) {
  out.push_back(static_cast<std::byte>(value));
}
inline void AppendUnsigned(std::vector<std::byte>& out, uint32_t value) {
  for (; value >= 0x80; value >>= 7) AppendByte(out, (value & 0x7f) | 0x80);
  AppendByte(out, value);
}
inline void AppendDifference(std::vector<std::byte>& out, uint32_t value) {
  AppendUnsigned(out, (value << 1) ^ (0u - (value >> 31)));
}

}  // namespace vesta::symbolize
