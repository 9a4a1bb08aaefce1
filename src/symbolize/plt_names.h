// Names the stubs of the procedure linkage table, through which programs call functions of other
// libraries and those chosen at load time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"

namespace vesta::symbolize {

// Shape:  addresses sorted and unique; the result has one name per address, without "@plt"; empty =
//         no stub or nothing known. Each stub jumps through a slot of the global offset table, and
//         the relocation of that slot names the function.
// Cost:   nothing when no address lies in a stub; else one pass over the relocations.
// Errors: as ByteSource::ReadAt. Machines other than x86-64 have no names.
base::Result<std::vector<std::string>> NamePltStubs(const object::ElfFile& elf,
                                                    const base::ByteSource& source,
                                                    std::span<const uint64_t> addresses);

}  // namespace vesta::symbolize
