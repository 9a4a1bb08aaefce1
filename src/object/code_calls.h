// Which functions machine code calls, and which of them never come back.
#pragma once

#include <vector>

#include "src/object/code_text.h"

namespace vesta::object {

// Marks what is called (kEntry), what code has the address of (kPointedAt), and functions from
// which no way leads back to a caller (kDoesNotReturn); entries that are marked already count as
// well. Shape: returns all entries, sorted. Cost:  every instruction is decoded once, and a bounded
// number of each function's first ones a
//        few times more.
std::vector<Place> FindCalledFunctions(CodeText& code);

}  // namespace vesta::object
