// Names addresses of one ELF image from its symbol tables (and Go's pclntab).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"
#include "src/symbolize/symbol.h"

namespace vesta::symbolize {

// Shape:  addresses are image addresses, sorted, unique; the result has one Symbol per address.
// Cost:   one streaming pass over the symbol tables; memory O(addresses), not O(symbols).
// Errors: Corrupt when a table points outside the file; addresses without a name give an empty
//         Symbol, which is no error.
base::Result<std::vector<Symbol>> ResolveElfSymbols(const object::ElfFile& elf,
                                                    const base::ByteSource& source,
                                                    std::span<const uint64_t> addresses);

}  // namespace vesta::symbolize
