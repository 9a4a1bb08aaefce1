#include "src/object/eh_frame.h"

#include <algorithm>
#include <string_view>

#include "src/base/byte_reader.h"

// Source: Linux Standard Base, "Exception Frames" (.eh_frame); DWARF 5 section 6.4 (.debug_frame).
namespace vesta::object {
namespace {

using base::ByteReader;

constexpr uint8_t kPointerOmit = 0xff;
constexpr uint8_t kPointerFormatMask = 0x0f;
constexpr uint8_t kPointerBaseMask = 0x70;
constexpr uint8_t kPointerIndirect = 0x80;
enum PointerFormat : uint8_t {
  kFormatAbsolute = 0x00,
  kFormatUleb128 = 0x01,
  kFormatU16 = 0x02,
  kFormatU32 = 0x03,
  kFormatU64 = 0x04,
  kFormatSleb128 = 0x09,
  kFormatS16 = 0x0a,
  kFormatS32 = 0x0b,
  kFormatS64 = 0x0c,
};
enum PointerBase : uint8_t {
  kBaseAbsolute = 0x00,
  kBasePlace = 0x10,
  kBaseData = 0x30,
  kBaseAligned = 0x50,
};

constexpr uint32_t kLength64 = 0xffffffff;
constexpr size_t kCommonEntriesMax = 1 << 16;

// Sign extended to 64 bits where the format is signed, so that adding a base wraps rightly.
uint64_t ReadPointerValue(ByteReader& reader, uint8_t format) {
  switch (format) {
    case kFormatAbsolute:
    case kFormatU64:
    case kFormatS64:
      return reader.Read<uint64_t>();
    case kFormatUleb128:
      return reader.ReadUleb128();
    case kFormatSleb128:
      return static_cast<uint64_t>(reader.ReadSleb128());
    case kFormatU16:
      return reader.Read<uint16_t>();
    case kFormatS16:
      return static_cast<uint64_t>(int64_t{reader.Read<int16_t>()});
    case kFormatU32:
      return reader.Read<uint32_t>();
    case kFormatS32:
      return static_cast<uint64_t>(int64_t{reader.Read<int32_t>()});
    default:
      reader.Fail();
      return 0;
  }
}

}  // namespace

std::optional<EncodedPointer> ReadEncodedPointer(std::span<const std::byte> bytes, size_t& position,
                                                 uint64_t bytes_vaddr, uint8_t encoding,
                                                 std::optional<uint64_t> data_base) {
  if (encoding == kPointerOmit) return std::nullopt;
  ByteReader reader(bytes);
  reader.Seek(position);
  const uint8_t base_kind = encoding & kPointerBaseMask;
  if (base_kind == kBaseAligned) {
    reader.Skip((8 - (bytes_vaddr + position) % 8) % 8);
  }
  const uint64_t place = bytes_vaddr + reader.position();
  EncodedPointer pointer;
  pointer.value = ReadPointerValue(reader, encoding & kPointerFormatMask);
  pointer.is_indirect = (encoding & kPointerIndirect) != 0;
  if (!reader.ok()) return std::nullopt;
  position = reader.position();
  switch (base_kind) {
    case kBaseAbsolute:
    case kBaseAligned:
      return pointer;
    case kBasePlace:
      // Zero means "no address" even where it is counted from its place.
      if (pointer.value != 0) pointer.value += place;
      return pointer;
    case kBaseData:
      if (!data_base.has_value()) return std::nullopt;
      pointer.value += *data_base;
      return pointer;
    default:
      return std::nullopt;
  }
}

std::optional<FrameExtent> ReadFrameExtent(const FrameSection& section, size_t offset) {
  ByteReader reader(section.bytes);
  reader.Seek(offset);
  FrameExtent extent;
  extent.offset = offset;
  uint64_t length = reader.Read<uint32_t>();
  if (length == kLength64) {
    extent.is_64_bit = true;
    length = reader.Read<uint64_t>();
  }
  if (!reader.ok() || length > reader.remaining()) return std::nullopt;
  extent.id_offset = reader.position();
  extent.end_offset = reader.position() + static_cast<size_t>(length);
  if (length == 0) {
    extent.is_terminator = true;
    return extent;
  }
  // In .eh_frame the id stays 4 bytes long in the 64-bit format, too.
  const bool wide_id = extent.is_64_bit && section.kind == FrameSectionKind::kDebugFrame;
  if (length < (wide_id ? 8u : 4u)) return std::nullopt;
  extent.id = wide_id ? reader.Read<uint64_t>() : reader.Read<uint32_t>();
  extent.body_offset = reader.position();
  return extent;
}

std::optional<FrameEntryReader::Step> FrameEntryReader::Next() {
  while (position_ < section_.bytes.size()) {
    const auto extent = ReadFrameExtent(section_, position_);
    if (!extent.has_value()) {
      stopped_early_ = true;
      position_ = section_.bytes.size();
      return std::nullopt;
    }
    position_ = extent->end_offset;
    if (extent->is_terminator) {
      // It ends the section for the C++ runtime, but linkers also leave one in the middle.
      if (section_.ends_at_terminator) position_ = section_.bytes.size();
      continue;
    }
    uint64_t common_id = 0;
    if (section_.kind == FrameSectionKind::kDebugFrame) {
      common_id = extent->is_64_bit ? ~uint64_t{0} : ~uint32_t{0};
    }
    if (extent->id == common_id) {
      RememberCommonEntry(*extent);
      continue;
    }
    return Step{static_cast<uint32_t>(extent->offset), ReadEntry(*extent)};
  }
  return std::nullopt;
}

void FrameEntryReader::RememberCommonEntry(const FrameExtent& extent) {
  if (common_entries_.size() >= kCommonEntriesMax) return;
  const auto common = ReadCommonEntry(section_, extent);
  if (!common.has_value()) return;
  common_by_offset_.emplace(extent.offset, static_cast<uint32_t>(common_entries_.size()));
  common_entries_.push_back(*common);
}

std::optional<CommonEntry> ReadCommonEntry(const FrameSection& section, const FrameExtent& extent) {
  const auto bytes = section.bytes.first(extent.end_offset);
  ByteReader reader(bytes);
  reader.Seek(extent.body_offset);
  CommonEntry common;
  const auto version = reader.Read<uint8_t>();
  if (version != 1 && version != 3 && version != 4) return std::nullopt;
  const std::string_view augmentation = reader.ReadCString();
  if (augmentation == "eh") reader.Skip(8);  // address of the exception table of old compilers
  if (version == 4) {
    const auto address_bytes = reader.Read<uint8_t>();
    const auto segment_bytes = reader.Read<uint8_t>();
    if (address_bytes != 8 || segment_bytes != 0) return std::nullopt;
  }
  common.code_alignment = reader.ReadUleb128();
  common.data_alignment = reader.ReadSleb128();
  common.return_column = version == 1 ? reader.Read<uint8_t>() : reader.ReadUleb128();
  if (!reader.ok()) return std::nullopt;

  if (augmentation.empty() || augmentation == "eh") {
    common.instructions = reader.ReadBytes(reader.remaining());
    return common;
  }
  if (augmentation.front() != 'z') return std::nullopt;
  common.has_augmentation_size = true;
  const uint64_t augmentation_size = reader.ReadUleb128();
  if (!reader.ok() || augmentation_size > reader.remaining()) return std::nullopt;
  const size_t augmentation_end = reader.position() + static_cast<size_t>(augmentation_size);
  for (const char letter : augmentation.substr(1)) {
    if (letter == 'L') {
      reader.Read<uint8_t>();
    } else if (letter == 'R') {
      common.pointer_encoding = reader.Read<uint8_t>();
    } else if (letter == 'P') {
      const auto encoding = reader.Read<uint8_t>();
      if (encoding == kPointerOmit) continue;
      size_t position = reader.position();
      // Only skipped, so that any base will do; alignment alone decides how long it is.
      const bool is_aligned = (encoding & kPointerBaseMask) == kBaseAligned;
      const auto skipped =
          static_cast<uint8_t>(is_aligned ? encoding : encoding & kPointerFormatMask);
      if (!ReadEncodedPointer(bytes, position, section.vaddr, skipped)) return std::nullopt;
      reader.Seek(position);
    } else if (letter == 'S') {
      common.is_signal_frame = true;
    } else if (letter != 'B' && letter != 'G') {
      break;  // unknown: its data is skipped by the size, what follows it is lost
    }
  }
  if (!reader.ok() || reader.position() > augmentation_end) return std::nullopt;
  reader.Seek(augmentation_end);
  common.instructions = reader.ReadBytes(reader.remaining());
  return common;
}

std::optional<FrameEntry> ReadFrameEntry(const FrameSection& section, const FrameExtent& extent,
                                         const CommonEntry& common) {
  const auto bytes = section.bytes.first(extent.end_offset);
  size_t position = extent.body_offset;
  const auto start = ReadEncodedPointer(bytes, position, section.vaddr, common.pointer_encoding);
  if (!start.has_value() || start->is_indirect) return std::nullopt;
  const auto size = ReadEncodedPointer(bytes, position, section.vaddr,
                                       common.pointer_encoding & kPointerFormatMask);
  if (!size.has_value()) return std::nullopt;
  ByteReader reader(bytes);
  reader.Seek(position);
  if (common.has_augmentation_size) {
    const uint64_t augmentation_size = reader.ReadUleb128();
    if (augmentation_size > reader.remaining()) return std::nullopt;
    reader.Skip(static_cast<size_t>(augmentation_size));
  }
  if (!reader.ok()) return std::nullopt;
  FrameEntry entry;
  entry.start_vaddr = start->value;
  entry.end_vaddr = start->value + size->value;
  if (entry.end_vaddr <= entry.start_vaddr) return std::nullopt;
  entry.instructions = reader.ReadBytes(reader.remaining());
  return entry;
}

std::optional<FrameEntry> FrameEntryReader::ReadEntry(const FrameExtent& extent) const {
  uint64_t common_offset = extent.id;
  if (section_.kind == FrameSectionKind::kEhFrame) {
    if (extent.id > extent.id_offset) return std::nullopt;
    common_offset = extent.id_offset - extent.id;
  }
  if (common_offset != last_common_offset_) {
    const auto found = common_by_offset_.find(static_cast<size_t>(common_offset));
    if (found == common_by_offset_.end()) return std::nullopt;
    last_common_offset_ = found->first;
    last_common_index_ = found->second;
  }
  auto entry = ReadFrameEntry(section_, extent, common_entries_[last_common_index_]);
  if (entry.has_value()) entry->common_index = last_common_index_;
  return entry;
}

std::optional<FrameEntry> FrameEntryReader::ReadEntryAt(uint32_t offset) const {
  const auto extent = ReadFrameExtent(section_, offset);
  if (!extent.has_value() || extent->is_terminator) return std::nullopt;
  return ReadEntry(*extent);
}

}  // namespace vesta::object
