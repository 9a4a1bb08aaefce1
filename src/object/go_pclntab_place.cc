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
constexpr size_t kModuleCandidatesMax = 8;
// What looks like a table's header by chance is rare; a hostile file can be full of them.
constexpr size_t kTableCandidatesMax = 64;

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

// Calls on_rela for each relocation that gives a word an address of the image, until it returns
// true.
template <typename OnRela>
void ForEachRelative(const ElfFile& elf, const ByteSource& source, OnRela on_rela) {
  uint64_t budget_bytes = kGoSearchBytesMax;
  for (const Section& section : elf.sections()) {
    if (section.type != kSectionRela) continue;
    uint64_t size = std::min(section.size_bytes, budget_bytes);
    budget_bytes -= size;
    size -= size % sizeof(Rela);
    const bool is_done = ForEachChunk(
        source, section.file_offset, size, [&](uint64_t, std::span<const std::byte> chunk) {
          for (size_t at = 0; at < chunk.size(); at += sizeof(Rela)) {
            const auto rela = Load<Rela>(chunk, at);
            const auto type = static_cast<uint32_t>(rela.info);
            if ((type == kRelativeX86 || type == kRelativeArm) && on_rela(rela)) return true;
          }
          return false;
        });
    if (is_done) return;
  }
}

// Words as the loader will leave them: position-independent programs may keep pointers in their
// relocations only. What is unknown is 0.
void ReadWords(const ElfFile& elf, const ByteSource& source, uint64_t vaddr,
               std::span<uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  const auto offset = elf.FileOffsetOf(vaddr);
  if (!offset || !source.ReadAt(*offset, std::as_writable_bytes(words)).ok()) return;
  if (std::find(words.begin(), words.end(), uint64_t{0}) == words.end()) return;
  ForEachRelative(elf, source, [&](const Rela& rela) {
    if (rela.place - vaddr >= words.size_bytes() || rela.place % 8 != vaddr % 8) return false;
    uint64_t& word = words[static_cast<size_t>(rela.place - vaddr) / 8];
    if (word == 0) word = rela.addend;
    return false;
  });
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

// The module data at this address; empty when there are none of this table.
std::optional<GoModuleData> ModuleDataAt(const ElfFile& elf, const ByteSource& source,
                                         uint64_t module_vaddr, uint64_t table_vaddr,
                                         uint64_t first_function_offset) {
  GoModuleData module;
  ReadWords(elf, source, module_vaddr, module.words);
  if (module.words[0] != table_vaddr) return std::nullopt;
  for (size_t i = kModuleTextWordMin; i < module.words.size(); ++i) {
    const uint64_t text = module.words[i];
    if (!IsCode(elf, text) || module.words[i - 2] != text + first_function_offset) continue;
    module.text_word = i;
    return module;
  }
  return std::nullopt;
}

// Calls on_place(address) for each aligned word of the range that holds the value, until it returns
// true.
template <typename OnPlace>
bool ForEachWordOfValue(const ByteSource& source, const Table& range, uint64_t value,
                        OnPlace on_place) {
  return ForEachChunk(source, range.file_offset, range.size_bytes,
                      [&](uint64_t done, std::span<const std::byte> chunk) {
                        for (size_t at = 0; at + 8 <= chunk.size(); at += 8) {
                          if (Load<uint64_t>(chunk, at) != value) continue;
                          if (on_place(range.vaddr + done + at)) return true;
                        }
                        return false;
                      });
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
  const auto module = FindGoModuleData(elf, source, table.vaddr, *first_function);
  if (!module) {
    return Error(ErrorCode::kUnsupported,
                 "Go's function table does not tell where its code starts");
  }
  return module->words[module->text_word];
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
  size_t candidates_left = kTableCandidatesMax;
  for (const LoadSegment& segment : elf.load_segments()) {
    if (segment.executable || found || candidates_left == 0) continue;
    const uint64_t size = std::min(segment.file_size_bytes, budget_bytes);
    budget_bytes -= size;
    ForEachChunk(source, segment.file_offset, size,
                 [&](uint64_t done, std::span<const std::byte> chunk) {
                   for (size_t at = 0; at + 8 <= chunk.size(); at += 8) {
                     if (!HeaderAt(chunk, at)) continue;
                     if (candidates_left == 0) return true;
                     --candidates_left;
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

std::optional<GoModuleData> FindGoModuleData(const ElfFile& elf, const ByteSource& source,
                                             uint64_t table_vaddr, uint64_t first_function_offset) {
  std::optional<GoModuleData> found;
  size_t candidates_left = kModuleCandidatesMax;
  const auto try_place = [&](uint64_t vaddr) {
    found = ModuleDataAt(elf, source, vaddr, table_vaddr, first_function_offset);
    return found || --candidates_left == 0;
  };
  if (const Section* section = elf.FindSection(".go.module"); section != nullptr) {
    try_place(section->vaddr);
    return found;
  }
  for (const char* name : {".noptrdata", ".data"}) {
    const Section* section = elf.FindSection(name);
    if (section == nullptr) continue;
    const Table range{section->file_offset, section->size_bytes, section->vaddr};
    if (ForEachWordOfValue(source, range, table_vaddr, try_place)) return found;
  }
  if (!elf.sections().empty()) {
    ForEachRelative(elf, source, [&](const Rela& rela) {
      return rela.addend == table_vaddr && try_place(rela.place);
    });
    return found;
  }
  uint64_t budget_bytes = kGoSearchBytesMax;
  for (const LoadSegment& segment : elf.load_segments()) {
    if (segment.executable) continue;
    const Table range{segment.file_offset, std::min(segment.file_size_bytes, budget_bytes),
                      segment.vaddr};
    budget_bytes -= range.size_bytes;
    if (ForEachWordOfValue(source, range, table_vaddr, try_place)) break;
  }
  return found;
}

Result<GoPclntabPlace> FindGoPclntab(const ElfFile& elf, const ByteSource& source) {
  const auto table = FindTable(elf, source);
  if (!table) return Error(ErrorCode::kNotFound, "not a Go program");
  const auto magic = source.ReadObject<uint32_t>(table->file_offset);
  const auto version = magic.ok() ? GoVersionOfMagic(*magic) : std::nullopt;
  if (!version) return Error(ErrorCode::kCorrupt, "Go's function table has an unknown magic");
  ASSIGN_OR_RETURN(const uint64_t text, FindText(elf, source, *table, *version));
  return GoPclntabPlace{table->vaddr, table->file_offset, table->size_bytes, text};
}

}  // namespace vesta::object
