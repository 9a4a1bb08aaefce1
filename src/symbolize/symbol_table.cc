#include "src/symbolize/symbol_table.h"

#include <algorithm>
#include <span>
#include <vector>

namespace vesta::symbolize {
namespace {

using base::ByteSource;
using base::Result;
using object::ElfFile;
using object::Section;

constexpr uint32_t kSectionSymtab = 2;
constexpr uint32_t kSectionStrtab = 3;
constexpr uint32_t kSectionDynsym = 11;
constexpr uint64_t kFlagExecutable = 4;
constexpr uint16_t kIndexUndefined = 0;
constexpr uint16_t kIndexReservedMin = 0xff00;
constexpr uint16_t kIndexElsewhere = 0xffff;  // the index does not fit; kept in another table
constexpr unsigned kTypeNone = 0;
constexpr unsigned kTypeFunction = 2;
constexpr unsigned kTypeIndirectFunction = 10;
constexpr unsigned kBindLocal = 0;

constexpr size_t kEntriesPerChunk = 4096;

// The section that the symbol lies in, when it holds code.
const Section* CodeSectionOf(const ElfFile& elf, const SymbolEntry& entry) {
  const auto& sections = elf.sections();
  const auto holds = [&](const Section& section) {
    return (section.flags & kFlagExecutable) != 0 && entry.value >= section.vaddr &&
           entry.value - section.vaddr < section.size_bytes;
  };
  if (entry.section == kIndexElsewhere) {
    const auto found = std::find_if(sections.begin(), sections.end(), holds);
    return found == sections.end() ? nullptr : &*found;
  }
  if (entry.section == kIndexUndefined || entry.section >= kIndexReservedMin ||
      entry.section >= sections.size()) {
    return nullptr;
  }
  const Section& section = sections[entry.section];
  return holds(section) ? &section : nullptr;
}

bool Understand(const ElfFile& elf, const SymbolEntry& entry, bool is_symtab, CodeSymbol& symbol) {
  const unsigned type = entry.info & 15;
  const unsigned bind = entry.info >> 4;
  if (type != kTypeNone && type != kTypeFunction && type != kTypeIndirectFunction) return false;
  if (entry.name == 0) return false;
  const Section* section = CodeSectionOf(elf, entry);
  if (section == nullptr) return false;
  symbol.start = entry.value;
  symbol.end = entry.size == 0 ? section->vaddr + section->size_bytes
                               : entry.value + std::min(entry.size, ~uint64_t{0} - entry.value);
  symbol.name = entry.name;
  symbol.has_size = entry.size != 0;
  symbol.rank = static_cast<uint8_t>((is_symtab ? 4 : 0) | (bind != kBindLocal ? 2 : 0) |
                                     (type != kTypeNone ? 1 : 0));
  symbol.may_be_marker = type == kTypeNone && bind == kBindLocal;
  return true;
}

}  // namespace

bool IsSymbolTable(const Section& section) {
  return section.type == kSectionSymtab || section.type == kSectionDynsym;
}

const Section* StringTableOf(const ElfFile& elf, const Section& symbols) {
  if (symbols.link >= elf.sections().size()) return nullptr;
  const Section& names = elf.sections()[symbols.link];
  return names.type == kSectionStrtab ? &names : nullptr;
}

Result<void> VisitCodeSymbols(const ElfFile& elf, const ByteSource& source, const Section& table,
                              const std::function<void(const CodeSymbol&)>& visit) {
  if (table.entry_size_bytes != sizeof(SymbolEntry)) return {};
  const uint64_t count = table.size_bytes / sizeof(SymbolEntry);
  std::vector<SymbolEntry> chunk(static_cast<size_t>(std::min<uint64_t>(count, kEntriesPerChunk)));
  for (uint64_t done = 0; done < count; done += chunk.size()) {
    chunk.resize(static_cast<size_t>(std::min<uint64_t>(count - done, kEntriesPerChunk)));
    RETURN_IF_ERROR(source.ReadAt(table.file_offset + done * sizeof(SymbolEntry),
                                  std::as_writable_bytes(std::span(chunk))));
    CodeSymbol symbol;
    for (const SymbolEntry& entry : chunk) {
      if (Understand(elf, entry, table.type == kSectionSymtab, symbol)) visit(symbol);
    }
  }
  return {};
}

}  // namespace vesta::symbolize
