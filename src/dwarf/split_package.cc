#include "src/dwarf/split_package.h"

#include <cstring>

#include "src/base/byte_reader.h"

namespace vesta::dwarf {

namespace {

using base::Error;
using base::ErrorCode;

constexpr uint64_t kHeaderBytes = 16;
constexpr uint64_t kSlotBytes = 8 + 4;  // an id and a row number, in two tables

// Source: DWARF 5 section 7.3.5.3; for version 2 the GNU DebugFissionDWP page.
Bytes Sections::* MemberOf(uint32_t column, uint16_t version) {
  switch (column) {
    case 1:
      return &Sections::info;
    case 2:
      return version == 2 ? &Sections::info : nullptr;  // .debug_types, in an index of its own
    case 3:
      return &Sections::abbrev;
    case 4:
      return &Sections::line;
    case 6:
      return &Sections::str_offsets;
    case 8:
      return version == 2 ? nullptr : &Sections::rnglists;  // of version 2: .debug_macro
    default:
      return nullptr;
  }
}

}  // namespace

base::Result<SplitPackage> SplitPackage::Parse(Bytes index) {
  SplitPackage package;
  package.index_ = index;
  base::ByteReader reader(index);
  // Version 2 is a whole word, 5 a half with padding after it.
  const auto version = reader.Read<uint32_t>();
  package.version_ = static_cast<uint16_t>(version);
  package.column_count_ = reader.Read<uint32_t>();
  package.unit_count_ = reader.Read<uint32_t>();
  package.slot_count_ = reader.Read<uint32_t>();
  if (!reader.ok()) return Error(ErrorCode::kCorrupt, "the index of a package is cut off");
  if (version != 2 && version != 5) {
    return Error(ErrorCode::kUnsupported, "the index of a package has no known version");
  }
  const uint64_t columns = package.column_count_;
  const uint64_t slots = package.slot_count_;
  // Two tables of offsets and sizes, and in front of the first the row of columns.
  if (columns > kColumnsMax || (slots & (slots - 1)) != 0 || package.unit_count_ > slots ||
      slots * kSlotBytes + columns * 4 * (1 + 2 * uint64_t{package.unit_count_}) >
          index.size() - kHeaderBytes) {
    return Error(ErrorCode::kCorrupt, "the index of a package is larger than its section");
  }
  for (size_t i = 0; i < columns; ++i) {
    package.columns_[i] = package.Number(kHeaderBytes + slots * kSlotBytes + i * 4);
  }
  return package;
}

uint32_t SplitPackage::Number(uint64_t place) const {
  uint32_t value = 0;
  std::memcpy(&value, index_.data() + place, sizeof(value));
  return value;
}

std::optional<Sections> SplitPackage::Find(uint64_t id, const Sections& whole) const {
  if (slot_count_ == 0) return std::nullopt;
  const uint64_t mask = slot_count_ - 1;
  const uint64_t step = (id >> 32 & mask) | 1;
  uint64_t slot = id & mask;
  uint32_t row = 0;
  for (uint32_t tried = 0; tried < slot_count_; ++tried, slot = (slot + step) & mask) {
    row = Number(kHeaderBytes + slot_count_ * uint64_t{8} + slot * 4);
    if (row == 0) return std::nullopt;
    uint64_t there = 0;
    std::memcpy(&there, index_.data() + kHeaderBytes + slot * 8, sizeof(there));
    if (there == id) break;
    row = 0;
  }
  if (row == 0 || row > unit_count_) return std::nullopt;
  Sections part;
  part.str = whole.str;
  part.line_str = whole.line_str;
  const uint64_t row_bytes = uint64_t{column_count_} * 4;
  const uint64_t offsets = kHeaderBytes + slot_count_ * kSlotBytes + row * row_bytes;
  const uint64_t sizes = offsets + unit_count_ * row_bytes;
  for (size_t i = 0; i < column_count_; ++i) {
    const auto member = MemberOf(columns_[i], version_);
    if (member == nullptr) continue;
    const uint64_t offset = Number(offsets + i * 4);
    const uint64_t size = Number(sizes + i * 4);
    const Bytes section = whole.*member;
    if (offset > section.size() || size > section.size() - offset) return std::nullopt;
    part.*member = section.subspan(offset, size);
  }
  return part;
}

}  // namespace vesta::dwarf
