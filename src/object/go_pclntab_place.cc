#include "src/object/go_pclntab_place.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace vesta::object {
namespace {

using base::ByteSource;
using base::Error;
using base::ErrorCode;
using base::Result;

constexpr size_t kChunkBytes = 96 << 10;        // a whole number of words and of relocations
constexpr uint64_t kTextFieldOffset = 24;       // in the table's header
constexpr uint64_t kFunctionsFieldOffset = 64;  // where the functions start
constexpr uint32_t kSectionRela = 4;            // SHT_RELA
constexpr uint32_t kRelativeX86 = 8;            // R_X86_64_RELATIVE
constexpr uint32_t kRelativeArm = 1027;         // R_AARCH64_RELATIVE
// In runtime.moduledata, the start of the code lies two words behind the lowest function's address,
// both about here; the words in front grow from time to time.
constexpr size_t kModuleTextWordMin = 16;
constexpr size_t kModuleWords = 40;

struct Rela {
  uint64_t place = 0;
  uint64_t info = 0;
  uint64_t addend = 0;
};
static_assert(kChunkBytes % sizeof(Rela) == 0 && kChunkBytes % sizeof(uint64_t) == 0);

struct Table {
  uint64_t file_offset = 0;
  uint64_t size_bytes = 0;
  uint64_t vaddr = 0;
};

// Calls on_chunk(offset of the chunk in the range, bytes) until it returns true.
template <typename OnChunk>
bool ForEachChunk(const ByteSource& source, uint64_t offset, uint64_t size, OnChunk on_chunk) {
  std::vector<std::byte> chunk;
  for (uint64_t done = 0; done < size; done += chunk.size()) {
    chunk.resize(static_cast<size_t>(std::min<uint64_t>(kChunkBytes, size - done)));
    if (!source.ReadAt(offset + done, chunk).ok()) return false;
    if (on_chunk(done, std::span<const std::byte>(chunk))) return true;
  }
  return false;
}

template <typename T>
T Load(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Words as the loader will leave them: position-independent programs may keep pointers in their
// relocations only. What is unknown is 0.
void ReadWords(const ElfFile& elf, const ByteSource& source, uint64_t vaddr,
               std::span<uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  const auto offset = elf.FileOffsetOf(vaddr);
  if (!offset || !source.ReadAt(*offset, std::as_writable_bytes(words)).ok()) return;
  if (std::find(words.begin(), words.end(), uint64_t{0}) == words.end()) return;
  for (const Section& section : elf.sections()) {
    if (section.type != kSectionRela) continue;
    const uint64_t size = section.size_bytes - section.size_bytes % sizeof(Rela);
    ForEachChunk(source, section.file_offset, size,
                 [&](uint64_t, std::span<const std::byte> chunk) {
                   for (size_t at = 0; at < chunk.size(); at += sizeof(Rela)) {
                     const auto rela = Load<Rela>(chunk, at);
                     const auto type = static_cast<uint32_t>(rela.info);
                     if (rela.place - vaddr >= words.size_bytes() || rela.place % 8 != vaddr % 8 ||
                         (type != kRelativeX86 && type != kRelativeArm)) {
                       continue;
                     }
                     uint64_t& word = words[static_cast<size_t>(rela.place - vaddr) / 8];
                     if (word == 0) word = rela.addend;
                   }
                   return false;
                 });
  }
}

bool IsCode(const ElfFile& elf, uint64_t vaddr) {
  for (const LoadSegment& segment : elf.load_segments()) {
    if (segment.executable && vaddr >= segment.vaddr &&
        vaddr - segment.vaddr < segment.memory_size_bytes) {
      return true;
    }
  }
  return false;
}

// Entry of the first function, relative to the start of the code.
std::optional<uint32_t> FirstFunctionOffset(const ByteSource& source, const Table& table) {
  const auto functions = source.ReadObject<uint64_t>(table.file_offset + kFunctionsFieldOffset);
  if (!functions.ok() || *functions > table.size_bytes) return std::nullopt;
  const auto offset = source.ReadObject<uint32_t>(table.file_offset + *functions);
  if (!offset.ok()) return std::nullopt;
  return *offset;
}

// Start of the code as the module data at this address have it. 0 = these are no module data.
uint64_t TextOfModuleData(const ElfFile& elf, const ByteSource& source, const Table& table,
                          uint64_t module_vaddr, uint32_t first_function) {
  std::array<uint64_t, kModuleWords> words;
  ReadWords(elf, source, module_vaddr, words);
  if (words[0] != table.vaddr) return 0;
  for (size_t i = kModuleTextWordMin; i < kModuleWords; ++i) {
    const uint64_t text = words[i];
    if (IsCode(elf, text) && words[i - 2] == text + first_function) return text;
  }
  return 0;
}

// Up to Go 1.25 the table says it; since 1.26 only the module data do, in a section of their own.
Result<uint64_t> FindText(const ElfFile& elf, const ByteSource& source, const Table& table,
                          GoVersion version) {
  if (version == GoVersion::k1_2 || version == GoVersion::k1_16) return uint64_t{0};
  uint64_t text = 0;
  ReadWords(elf, source, table.vaddr + kTextFieldOffset, std::span(&text, 1));
  if (IsCode(elf, text)) return text;
  const auto first_function = FirstFunctionOffset(source, table);
  if (!first_function) {
    return Error(ErrorCode::kCorrupt, "Go's function table is cut short");
  }
  uint64_t found = 0;
  if (const Section* section = elf.FindSection(".go.module"); section != nullptr) {
    found = TextOfModuleData(elf, source, table, section->vaddr, *first_function);
  } else if (elf.sections().empty()) {
    uint64_t budget_bytes = kGoSearchBytesMax;
    for (const LoadSegment& segment : elf.load_segments()) {
      if (segment.executable || found != 0) continue;
      const uint64_t size = std::min(segment.file_size_bytes, budget_bytes);
      budget_bytes -= size;
      ForEachChunk(
          source, segment.file_offset, size, [&](uint64_t done, std::span<const std::byte> chunk) {
            for (size_t at = 0; at + 8 <= chunk.size(); at += 8) {
              if (Load<uint64_t>(chunk, at) != table.vaddr) continue;
              found =
                  TextOfModuleData(elf, source, table, segment.vaddr + done + at, *first_function);
              if (found != 0) return true;
            }
            return false;
          });
    }
  }
  if (found == 0) {
    return Error(ErrorCode::kUnsupported,
                 "Go's function table does not tell where its code starts");
  }
  return found;
}

// Magic, zeros, instruction size, pointer size of 8.
std::optional<GoVersion> HeaderAt(std::span<const std::byte> bytes, size_t at) {
  const auto version = GoVersionOfMagic(Load<uint32_t>(bytes, at));
  if (!version) return std::nullopt;
  const auto rest = Load<uint32_t>(bytes, at + 4);
  if (rest != 0x08010000 && rest != 0x08020000 && rest != 0x08040000) return std::nullopt;
  return version;
}

// The table lies somewhere in the data, on a boundary of 8 bytes.
std::optional<Table> SearchSegments(const ElfFile& elf, const ByteSource& source) {
  std::optional<Table> found;
  uint64_t budget_bytes = kGoSearchBytesMax;
  for (const LoadSegment& segment : elf.load_segments()) {
    if (segment.executable || found) continue;
    const uint64_t size = std::min(segment.file_size_bytes, budget_bytes);
    budget_bytes -= size;
    ForEachChunk(source, segment.file_offset, size,
                 [&](uint64_t done, std::span<const std::byte> chunk) {
                   for (size_t at = 0; at + 8 <= chunk.size(); at += 8) {
                     if (!HeaderAt(chunk, at)) continue;
                     const uint64_t offset = done + at;
                     const Table table{segment.file_offset + offset,
                                       segment.file_size_bytes - offset, segment.vaddr + offset};
                     auto parsed = GoPclntab::Parse(source, table.file_offset, table.size_bytes, 0);
                     if (!parsed.ok()) continue;
                     const auto first = parsed->FunctionAt(0);
                     if (!first || parsed->NameOf(*first).empty()) continue;
                     found = table;
                     return true;
                   }
                   return false;
                 });
  }
  return found;
}

std::optional<Table> FindTable(const ElfFile& elf, const ByteSource& source) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    if (const Section* section = elf.FindSection(name); section != nullptr) {
      return Table{section->file_offset, section->size_bytes, section->vaddr};
    }
  }
  // Linkers other than Go's put it into .data.rel.ro of position-independent programs.
  const bool is_go = elf.sections().empty() || !elf.go_build_id().empty() ||
                     elf.FindSection(".go.buildinfo") != nullptr;
  return is_go ? SearchSegments(elf, source) : std::nullopt;
}

}  // namespace

Result<GoPclntabPlace> FindGoPclntab(const ElfFile& elf, const ByteSource& source) {
  const auto table = FindTable(elf, source);
  if (!table) return Error(ErrorCode::kNotFound, "not a Go program");
  const auto magic = source.ReadObject<uint32_t>(table->file_offset);
  const auto version = magic.ok() ? GoVersionOfMagic(*magic) : std::nullopt;
  if (!version) return Error(ErrorCode::kCorrupt, "Go's function table has an unknown magic");
  ASSIGN_OR_RETURN(const uint64_t text, FindText(elf, source, *table, *version));
  return GoPclntabPlace{table->file_offset, table->size_bytes, text};
}

}  // namespace vesta::object
