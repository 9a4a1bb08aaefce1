#include "src/object/elf_file.h"

#include <elf.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "src/base/byte_reader.h"

namespace vesta::object {
namespace {

using base::ByteReader;
using base::ByteSource;
using base::Error;
using base::ErrorCode;
using base::Result;

// More than any program has; what a hostile header asks for beyond is not read.
constexpr uint64_t kProgramHeadersMax = 4096;
constexpr uint64_t kSectionsMax = 1 << 16;
constexpr uint64_t kNameBytesMax = 64;
constexpr uint64_t kNameTableBytesMax = 64 << 10;
constexpr uint64_t kNoteBytesMax = 64 << 10;
constexpr size_t kBuildIdBytesMax = 64;
constexpr size_t kGoBuildIdBytesMax = 256;
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kIdentityPartBytes = 64 << 10;
constexpr uint32_t kNoteTypeGoBuildId = 4;

std::string Hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[std::to_integer<unsigned>(byte) >> 4]);
    text.push_back(kDigits[std::to_integer<unsigned>(byte) & 15]);
  }
  return text;
}

bool InFile(uint64_t offset, uint64_t size, uint64_t file_size) {
  return offset <= file_size && size <= file_size - offset;
}

uint64_t RoundDown(uint64_t value) { return value & ~(kPageBytes - 1); }

// Where the tables lie, extended numbering (counts kept in section header 0) resolved.
struct TableCounts {
  uint64_t program_headers = 0;
  uint64_t sections = 0;
  uint64_t name_section = 0;
};

TableCounts CountTables(const Elf64_Ehdr& header, const ByteSource& source) {
  TableCounts counts{header.e_phnum, header.e_shnum, header.e_shstrndx};
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) {
    counts.sections = 0;
    return counts;
  }
  const bool extended =
      header.e_phnum == PN_XNUM || header.e_shnum == 0 || header.e_shstrndx == SHN_XINDEX;
  if (!extended) return counts;
  const auto first = source.ReadObject<Elf64_Shdr>(header.e_shoff);
  if (!first.ok()) return counts;
  if (header.e_phnum == PN_XNUM) counts.program_headers = first->sh_info;
  if (header.e_shnum == 0) counts.sections = first->sh_size;
  if (header.e_shstrndx == SHN_XINDEX) counts.name_section = first->sh_link;
  return counts;
}

template <typename T>
Result<std::vector<T>> ReadTable(const ByteSource& source, uint64_t offset, uint64_t count) {
  // The caller has capped count, so the product does not overflow.
  if (!InFile(offset, count * sizeof(T), source.size_bytes())) {
    return Error(ErrorCode::kCorrupt, "a header table lies outside the file");
  }
  std::vector<T> table(static_cast<size_t>(count));
  RETURN_IF_ERROR(source.ReadAt(offset, std::as_writable_bytes(std::span(table))));
  return table;
}

// Section names by offset into the name table. A table shared with the symbols can be huge; then
// each name is read on its own.
class SectionNames {
 public:
  SectionNames(const ByteSource& source, uint64_t file_offset, uint64_t size_bytes)
      : source_(source), file_offset_(file_offset), size_bytes_(size_bytes) {
    if (size_bytes_ > kNameTableBytesMax) return;
    if (auto bytes = source.Read(file_offset, size_bytes); bytes.ok()) {
      table_ = std::move(bytes).value();
    } else {
      size_bytes_ = 0;
    }
  }

  std::string At(uint64_t offset) const {
    if (offset >= size_bytes_) return {};
    const uint64_t length_max = std::min(size_bytes_ - offset, kNameBytesMax);
    if (!table_.empty()) {
      return UpToNul(
          std::span(table_).subspan(static_cast<size_t>(offset), static_cast<size_t>(length_max)));
    }
    std::array<std::byte, kNameBytesMax> part;
    const auto name = std::span(part).first(static_cast<size_t>(length_max));
    if (!source_.ReadAt(file_offset_ + offset, name).ok()) return {};
    return UpToNul(name);
  }

 private:
  static std::string UpToNul(std::span<const std::byte> bytes) {
    const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(end - bytes.begin())};
  }

  const ByteSource& source_;
  uint64_t file_offset_;
  uint64_t size_bytes_;
  std::vector<std::byte> table_;
};

std::vector<Section> ReadSections(const ByteSource& source, uint64_t offset,
                                  const TableCounts& counts) {
  std::vector<Section> sections;
  // Tools that strip section headers leave a dangling offset behind: that is no damage.
  if (counts.sections == 0 || counts.sections > kSectionsMax) return sections;
  const auto headers = ReadTable<Elf64_Shdr>(source, offset, counts.sections);
  if (!headers.ok()) return sections;
  uint64_t names_offset = 0;
  uint64_t names_size = 0;
  if (counts.name_section < headers->size()) {
    const Elf64_Shdr& names = (*headers)[static_cast<size_t>(counts.name_section)];
    if (names.sh_type != SHT_NOBITS &&
        InFile(names.sh_offset, names.sh_size, source.size_bytes())) {
      names_offset = names.sh_offset;
      names_size = names.sh_size;
    }
  }
  const SectionNames names(source, names_offset, names_size);
  sections.reserve(headers->size());
  for (const Elf64_Shdr& header : *headers) {
    Section section{names.At(header.sh_name), header.sh_type, header.sh_flags,   header.sh_addr,
                    header.sh_offset,         header.sh_size, header.sh_entsize, header.sh_link};
    const bool has_bytes = header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL;
    if (has_bytes && !InFile(header.sh_offset, header.sh_size, source.size_bytes())) {
      section.type = SHT_NULL;
      section.size_bytes = 0;
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

struct BuildIds {
  std::string gnu;
  std::string go;
};

// Walks the notes of one segment or section; the first id of each kind counts.
void ReadNotes(const ByteSource& source, uint64_t offset, uint64_t size, uint64_t align,
               BuildIds& ids) {
  const auto bytes = source.Read(offset, std::min(size, kNoteBytesMax));
  if (!bytes.ok()) return;
  const size_t unit = align == 8 ? 8 : 4;
  ByteReader reader(*bytes);
  const auto skip_padding = [&] {
    reader.Skip(std::min((unit - reader.position() % unit) % unit, reader.remaining()));
  };
  while (reader.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto header = reader.Read<Elf64_Nhdr>();
    const auto name_bytes = reader.ReadBytes(header.n_namesz);
    skip_padding();
    const auto content = reader.ReadBytes(header.n_descsz);
    skip_padding();
    if (!reader.ok()) return;
    const std::string_view name(reinterpret_cast<const char*>(name_bytes.data()),
                                name_bytes.size());
    if (content.empty()) continue;
    if (header.n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU\0", 4) &&
        content.size() <= kBuildIdBytesMax && ids.gnu.empty()) {
      ids.gnu = Hex(content);
    } else if (header.n_type == kNoteTypeGoBuildId && name == std::string_view("Go\0\0", 4) &&
               content.size() <= kGoBuildIdBytesMax && ids.go.empty()) {
      ids.go.assign(reinterpret_cast<const char*>(content.data()), content.size());
    }
  }
}

// Empty when the addresses wrap around; the file part never reaches past the end of the file.
std::optional<LoadSegment> LoadSegmentOf(const Elf64_Phdr& header, uint64_t file_size) {
  if (header.p_memsz == 0 || header.p_vaddr + header.p_memsz < header.p_vaddr) return std::nullopt;
  LoadSegment segment{header.p_vaddr, header.p_offset, std::min(header.p_filesz, header.p_memsz),
                      header.p_memsz, (header.p_flags & PF_X) != 0};
  if (segment.file_offset >= file_size) {
    segment.file_size_bytes = 0;
  } else {
    segment.file_size_bytes = std::min(segment.file_size_bytes, file_size - segment.file_offset);
  }
  return segment;
}

Machine MachineOf(uint16_t e_machine) {
  switch (e_machine) {
    case EM_X86_64:
      return Machine::kX86_64;
    case EM_AARCH64:
      return Machine::kArm64;
    default:
      return Machine::kOther;
  }
}

}  // namespace

Result<ElfFile> ElfFile::Parse(const ByteSource& source) {
  ASSIGN_OR_RETURN(const auto header, source.ReadObject<Elf64_Ehdr>(0));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Error(ErrorCode::kCorrupt, "not an ELF file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return Error(ErrorCode::kUnsupported, "not a 64-bit little-endian ELF file");
  }
  const TableCounts counts = CountTables(header, source);
  ElfFile elf;
  elf.machine_ = MachineOf(header.e_machine);
  elf.type_ = header.e_type;
  elf.entry_vaddr_ = header.e_entry;

  std::vector<Elf64_Phdr> segments;
  if (counts.program_headers != 0) {
    if (header.e_phentsize != sizeof(Elf64_Phdr) || counts.program_headers > kProgramHeadersMax) {
      return Error(ErrorCode::kCorrupt, "the program headers do not follow the format");
    }
    ASSIGN_OR_RETURN(segments,
                     ReadTable<Elf64_Phdr>(source, header.e_phoff, counts.program_headers));
  }
  BuildIds ids;
  for (const Elf64_Phdr& segment : segments) {
    switch (segment.p_type) {
      case PT_LOAD:
        if (auto load = LoadSegmentOf(segment, source.size_bytes())) {
          elf.load_segments_.push_back(*load);
        }
        break;
      case PT_INTERP:
        elf.has_interpreter_ = true;
        break;
      case PT_NOTE:
        ReadNotes(source, segment.p_offset, segment.p_filesz, segment.p_align, ids);
        break;
      case PT_GNU_EH_FRAME:
        elf.eh_frame_header_ = Range{segment.p_vaddr, segment.p_memsz};
        break;
      default:
        break;
    }
  }
  elf.sections_ = ReadSections(source, header.e_shoff, counts);
  for (const Section& section : elf.sections_) {
    if (!ids.gnu.empty() || section.type != SHT_NOTE) continue;
    ReadNotes(source, section.file_offset, section.size_bytes, 4, ids);
  }
  elf.gnu_build_id_ = std::move(ids.gnu);
  elf.go_build_id_ = std::move(ids.go);
  return elf;
}

const Section* ElfFile::FindSection(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

std::optional<uint64_t> ElfFile::FileOffsetOf(uint64_t vaddr) const {
  for (const LoadSegment& segment : load_segments_) {
    if (vaddr >= segment.vaddr && vaddr - segment.vaddr < segment.file_size_bytes) {
      return segment.file_offset + (vaddr - segment.vaddr);
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfFile::VaddrOf(uint64_t file_offset) const {
  // Two segments may share a page of the file: what a mapping that starts there shows is the
  // executable segment whose first page it is.
  const auto address_in = [&](const LoadSegment& segment) {
    return segment.vaddr + (file_offset - segment.file_offset);
  };
  for (const LoadSegment& segment : load_segments_) {
    if (segment.executable && segment.file_size_bytes != 0 &&
        file_offset == RoundDown(segment.file_offset)) {
      return address_in(segment);
    }
  }
  for (const bool executable : {true, false}) {
    for (const LoadSegment& segment : load_segments_) {
      const uint64_t first = RoundDown(segment.file_offset);
      if (segment.executable == executable && segment.file_size_bytes != 0 &&
          file_offset >= first &&
          file_offset - first < segment.file_size_bytes + (segment.file_offset - first)) {
        return address_in(segment);
      }
    }
  }
  return std::nullopt;
}

Result<std::string> ImageIdentity(const ElfFile& elf, const ByteSource& source) {
  if (!elf.gnu_build_id().empty()) return "gnu:" + elf.gnu_build_id();
  if (!elf.go_build_id().empty()) return "go:" + elf.go_build_id();
  const uint64_t size = source.size_bytes();
  const uint64_t part = std::min(size, kIdentityPartBytes);
  ASSIGN_OR_RETURN(auto bytes, source.Read(0, part));
  ASSIGN_OR_RETURN(const auto tail, source.Read(size - part, part));
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_withSeed(bytes.data(), bytes.size(), size));
  return "hash:" + Hex(std::as_bytes(std::span(digest.digest)));
}

}  // namespace vesta::object
