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

// Order of sources: Go's function table (with file, line and inlined functions) where it covers the
// address; .symtab and .dynsym; stubs of the procedure linkage table, as "name@plt". Among symbols,
// the one that starts last of those that cover the address; one without a size (assembly) reaches
// to the next symbol or the end of its section, where no symbol with a size covers the address. Of
// several at one place: .symtab before .dynsym, global before local, functions before labels, fewer
// underscores first.
// Shape:  addresses are image addresses, sorted, unique; the result has one Symbol per address.
// Cost:   one streaming pass over the symbol tables; memory O(addresses) and some buffers of at
//         most 4 MB, not O(symbols).
// Errors: Unavailable when the file cannot be read, Corrupt when it became shorter. A damaged table
//         names nothing; addresses without a name give an empty Symbol, which is no error.
base::Result<std::vector<Symbol>> ResolveElfSymbols(const object::ElfFile& elf,
                                                    const base::ByteSource& source,
                                                    std::span<const uint64_t> addresses);

}  // namespace vesta::symbolize
