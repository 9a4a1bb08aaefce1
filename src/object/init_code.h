// Rules for .init and .fini, which have no call frame information: the C library's start files put
// a fixed prologue and epilogue around them. Every start of a program runs through them while their
// pages are still absent, so that samples fall there often.
#pragma once

#include <vector>

#include "src/base/byte_source.h"
#include "src/object/elf_file.h"
#include "src/object/unwind_table.h"

namespace vesta::object {

// The rows of sections that have exactly the known shape; nothing for others.
// Shape:  not overlapping, inside the sections.
// Source: System V ABI, special sections; the machine code as glibc and musl assemble it.
std::vector<RowRange> InitCodeRanges(const ElfFile& elf, const base::ByteSource& source);

}  // namespace vesta::object
