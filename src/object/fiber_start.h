// The root of stacks that makecontext() made: the C library's __start_context. Its call frame
// information says that it has a caller, but what lies there is the link to the next context.
#pragma once

#include <optional>

#include "src/base/byte_source.h"
#include "src/object/elf_file.h"
#include "src/object/unwind_table.h"

namespace vesta::object {

// The row of __start_context where the image has exactly the known code; it begins one byte early,
// since the code's first byte is a return address.
// Cost:   reads all code, at most 16 MiB: only for images that may be a C library.
// Source: glibc 2.36 as Debian 12 ships it, disassembled.
std::optional<RowRange> FiberStartRange(const ElfFile& elf, const base::ByteSource& source);

}  // namespace vesta::object
