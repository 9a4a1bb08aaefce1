// PLT stubs of arm64 files. Linkers give them no call frame information, since nothing is saved in
// them: the return address of whoever called the stub is still in the link register.
#pragma once

#include <vector>

#include "src/base/byte_source.h"
#include "src/object/elf_file.h"
#include "src/object/unwind_table.h"

namespace vesta::object {

// Ranges of stubs and their rows; empty for other machines.
// Cost: 8 bytes read per PLT section.
std::vector<RowRange> Arm64PltRanges(const ElfFile& elf, const base::ByteSource& source);

}  // namespace vesta::object
