// The entries of .symtab and .dynsym that may name code, and which of two names the same place
// better. Shared by the scan for some addresses and by the index of a whole image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"

namespace vesta::symbolize {

// One entry of .symtab or .dynsym as the file has it (Elf64_Sym).
struct SymbolEntry {
  uint32_t name = 0;
  uint8_t info = 0;
  uint8_t other = 0;
  uint16_t section = 0;
  uint64_t value = 0;
  uint64_t size = 0;
};
static_assert(sizeof(SymbolEntry) == 24);

inline constexpr size_t kSymbolNameBytesMax = 64 << 10;

// A symbol that lies in a section of code.
struct CodeSymbol {
  uint64_t start = 0;
  uint64_t end = 0;   // of its section where it has no size
  uint32_t name = 0;  // offset into the string table
  bool has_size = false;
  // Of two at one place, the higher rank holds: .symtab before .dynsym, global before local,
  // functions before labels. Equal ones are told apart by UnderscoreCount, fewer hold.
  uint8_t rank = 0;
  // Names that begin with '$' mark code for disassemblers, with '.' labels of the compiler: such a
  // symbol names nothing.
  bool may_be_marker = false;
};

inline bool IsMarkerStart(char first) { return first == '$' || first == '.'; }
inline constexpr int kUnderscoresMax = 4;

bool IsSymbolTable(const object::Section& section);

// The string table that a symbol table refers to; null when there is none.
const object::Section* StringTableOf(const object::ElfFile& elf, const object::Section& symbols);

// Gives each code symbol of one table to `visit`, in the order of the file; nothing when the table
// does not follow its format.
// Cost:   one pass, in pieces of 96 KB.
// Errors: as ByteSource::ReadAt.
base::Result<void> VisitCodeSymbols(const object::ElfFile& elf, const base::ByteSource& source,
                                    const object::Section& table,
                                    const std::function<void(const CodeSymbol&)>& visit);

}  // namespace vesta::symbolize
