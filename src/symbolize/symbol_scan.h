// Finds, in one pass over an image's symbol tables, the symbol that names each address asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"

namespace vesta::symbolize {

// Shape:  addresses sorted and unique; the result has one name per address, empty = none.
// Cost:   O(symbols * log addresses) time however they overlap, O(addresses) memory.
// Errors: as ByteSource::ReadAt.
base::Result<std::vector<std::string>> ScanSymbolNames(const object::ElfFile& elf,
                                                       const base::ByteSource& source,
                                                       std::span<const uint64_t> addresses);

}  // namespace vesta::symbolize
