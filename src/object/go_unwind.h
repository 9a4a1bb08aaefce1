// Unwinding rules of Go code, which has no call frame information: made from the runtime's own
// table of stack depths.
#pragma once

#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"
#include "src/object/unwind_table.h"

namespace vesta::object {

// Shape:  sorted, apart from each other; neighbours that say the same are one range. Empty when the
//         image is no Go program. What the table does not tell has no range.
//         Functions at the root of a stack (runtime.goexit, runtime.mstart, ...) are roots. Those
//         that move to another stack (runtime.systemstack, runtime.asmcgocall, ...) are left by the
//         frame pointer, which Go keeps across the switch; runtime.mcall and runtime.morestack are
//         roots, as for Go's own tracebacks, since the goroutine may run elsewhere meanwhile.
// Cost:   one pass over the table and over the first bytes of each function; memory: the result.
// Errors: Corrupt when the table does not follow the format, Unsupported for other machines than
//         x86-64. A damaged function costs only its own range.
// Source: cmd/internal/obj/x86/obj6.go (prologues), runtime/asm_amd64.s, runtime/traceback.go.
base::Result<std::vector<RowRange>> GoUnwindRanges(const ElfFile& elf,
                                                   const base::ByteSource& source);

}  // namespace vesta::object
