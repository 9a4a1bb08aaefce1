// Finds, in one pass over an image's symbol tables, the symbol that names each address asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/cached_reader.h"
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

// The string table that a symbol table refers to; null when there is none.
const object::Section* StringTableOf(const object::ElfFile& elf, const object::Section& symbols);

// Shape:  addresses sorted and unique; the result has one name per address, empty = none.
// Cost:   O(symbols * log addresses) time however they overlap, O(addresses) memory.
// Errors: as ByteSource::ReadAt.
base::Result<std::vector<std::string>> ScanSymbolNames(const object::ElfFile& elf,
                                                       const base::ByteSource& source,
                                                       std::span<const uint64_t> addresses);

inline constexpr size_t kSymbolNameBytesMax = 64 << 10;

}  // namespace vesta::symbolize
