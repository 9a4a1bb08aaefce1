#include "src/object/frame_sections.h"

#include <elf.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/base/byte_reader.h"
#include "src/object/compressed_section.h"

namespace vesta::object {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr uint8_t kHeaderVersion = 1;
constexpr uint8_t kCountAsU32 = 0x03;            // DW_EH_PE_udata4
constexpr uint8_t kEntriesFromHeaderS32 = 0x3b;  // DW_EH_PE_datarel | DW_EH_PE_sdata4
constexpr uint64_t kHeaderBytesMax = 24;
constexpr uint64_t kSearchEntryBytes = 8;

// What .eh_frame_hdr begins with.
struct EhFrameHeader {
  uint64_t vaddr = 0;
  uint64_t file_offset = 0;
  uint64_t eh_frame_vaddr = 0;
  std::vector<std::byte> bytes;
  size_t position = 0;  // behind the pointer to .eh_frame
};

std::optional<EhFrameHeader> ReadHeader(const ElfFile& elf, const base::ByteSource& source) {
  if (!elf.eh_frame_header().has_value()) return std::nullopt;
  EhFrameHeader header;
  header.vaddr = elf.eh_frame_header()->vaddr;
  const auto offset = elf.FileOffsetOf(header.vaddr);
  if (!offset.has_value() || *offset >= source.size_bytes()) return std::nullopt;
  header.file_offset = *offset;
  auto bytes =
      source.Read(*offset, std::min<uint64_t>(kHeaderBytesMax, source.size_bytes() - *offset));
  if (!bytes.ok()) return std::nullopt;
  header.bytes = std::move(bytes).value();
  // version, encodings of the pointer to .eh_frame, of the count and of the entries, the pointer.
  header.position = 4;
  if (header.bytes.size() < header.position ||
      std::to_integer<uint8_t>(header.bytes[0]) != kHeaderVersion) {
    return std::nullopt;
  }
  const auto pointer = ReadEncodedPointer(header.bytes, header.position, header.vaddr,
                                          std::to_integer<uint8_t>(header.bytes[1]), header.vaddr);
  if (!pointer.has_value() || pointer->is_indirect) return std::nullopt;
  header.eh_frame_vaddr = pointer->value;
  return header;
}

Error OutsideFile() {
  return Error(ErrorCode::kCorrupt, "the call frame information lies outside the file");
}

}  // namespace

Result<std::optional<FrameSectionPlace>> FindEhFrame(const ElfFile& elf,
                                                     const base::ByteSource& source) {
  FrameSectionPlace place;
  const Section* const section = elf.FindSection(".eh_frame");
  if (section != nullptr && section->type != SHT_NOBITS) {
    if (section->type == SHT_NULL) return OutsideFile();
    place.file_offset = section->file_offset;
    place.size_bytes = section->size_bytes;
    place.vaddr = section->vaddr;
    return std::optional(place);
  }
  const auto header = ReadHeader(elf, source);
  if (!header.has_value()) return std::optional<FrameSectionPlace>();
  for (const LoadSegment& segment : elf.load_segments()) {
    if (header->eh_frame_vaddr < segment.vaddr ||
        header->eh_frame_vaddr - segment.vaddr >= segment.file_size_bytes) {
      continue;
    }
    const uint64_t inside = header->eh_frame_vaddr - segment.vaddr;
    place.file_offset = segment.file_offset + inside;
    place.size_bytes = segment.file_size_bytes - inside;
    place.vaddr = header->eh_frame_vaddr;
    place.ends_at_terminator = true;
    return std::optional(place);
  }
  return std::optional<FrameSectionPlace>();
}

std::optional<FrameSectionPlace> FindDebugFrame(const ElfFile& elf) {
  const Section* const section = elf.FindSection(".debug_frame");
  if (section == nullptr || section->type == SHT_NOBITS || section->type == SHT_NULL) {
    return std::nullopt;
  }
  FrameSectionPlace place;
  place.kind = FrameSectionKind::kDebugFrame;
  place.file_offset = section->file_offset;
  place.size_bytes = section->size_bytes;
  place.is_compressed = (section->flags & SHF_COMPRESSED) != 0;
  return place;
}

std::optional<FrameSearchTable> FindFrameSearchTable(const ElfFile& elf,
                                                     const base::ByteSource& source) {
  const auto header = ReadHeader(elf, source);
  if (!header.has_value() || std::to_integer<uint8_t>(header->bytes[2]) != kCountAsU32 ||
      std::to_integer<uint8_t>(header->bytes[3]) != kEntriesFromHeaderS32) {
    return std::nullopt;
  }
  base::ByteReader reader(header->bytes);
  reader.Seek(header->position);
  const auto count = reader.Read<uint32_t>();
  FrameSearchTable table;
  table.header_vaddr = header->vaddr;
  table.file_offset = header->file_offset + reader.position();
  table.count = count;
  table.eh_frame_vaddr = header->eh_frame_vaddr;
  if (!reader.ok() || count == 0 || table.file_offset > source.size_bytes() ||
      count > (source.size_bytes() - table.file_offset) / kSearchEntryBytes) {
    return std::nullopt;
  }
  return table;
}

Result<LoadedFrameSection> LoadFrameSection(const base::ByteSource& source,
                                            const FrameSectionPlace& place,
                                            uint64_t size_bytes_max) {
  if (place.size_bytes > size_bytes_max) {
    return Error(ErrorCode::kExhausted, "call frame information of more than " +
                                            std::to_string(size_bytes_max >> 20) + " MiB");
  }
  if (place.file_offset > source.size_bytes() ||
      place.size_bytes > source.size_bytes() - place.file_offset) {
    return OutsideFile();
  }
  auto size = static_cast<size_t>(place.size_bytes);
  LoadedFrameSection loaded;
  loaded.owned_bytes.reset(new std::byte[size]);  // not zeroed: all of it is read over
  RETURN_IF_ERROR(source.ReadAt(place.file_offset, std::span(loaded.owned_bytes.get(), size)));
  if (place.is_compressed) {
    ASSIGN_OR_RETURN(auto plain,
                     DecompressSection(std::span<const std::byte>(loaded.owned_bytes.get(), size),
                                       size_bytes_max));
    loaded.owned_bytes = std::move(plain.bytes);
    size = plain.size_bytes;
  }
  loaded.section.kind = place.kind;
  loaded.section.bytes = std::span<const std::byte>(loaded.owned_bytes.get(), size);
  loaded.section.vaddr = place.vaddr;
  loaded.section.ends_at_terminator = place.ends_at_terminator;
  return loaded;
}

}  // namespace vesta::object
