// What DWARF says about the code of one compilation unit: its functions, what was inlined into
// them, and the lines. The reader fills one after the other, so that a file of any size needs the
// memory of its largest unit only.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace vesta::dwarf {

inline constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// Image addresses [start, end).
struct Range {
  uint64_t start = 0;
  uint64_t end = 0;
};

// A function as it was declared; inlined copies share it. Strings live as long as the sections.
struct Function {
  std::string_view name;          // DW_AT_name, e.g. "push_back"
  std::string_view linkage_name;  // mangled; empty where the language has none (C)
  uint32_t file = kNone;          // of the declaration: index into Unit::files
  uint32_t line = 0;              // 0 = unknown
};

// One place where a function's code lies: the function itself, or a copy inlined into another. At
// an address that several cover, the deepest below its outermost parent holds, of equally deep ones
// the last. Where several units cover it (the linker kept one of equal functions), the first unit
// holds, with its lines.
// Shape: range_count is 0 where the compiler says no code of an inlined copy, but of copies in it.
struct Scope {
  uint32_t function = kNone;   // index into Unit::functions
  uint32_t parent = kNone;     // the scope it was inlined into; kNone: out of line
  uint32_t call_file = kNone;  // where the call stood that was inlined
  uint32_t call_line = 0;
  uint32_t range_first = 0;  // into Unit::ranges
  uint32_t range_count = 0;
};

// A row holds until the next one; end_sequence closes what came before.
struct LineRow {
  uint64_t address = 0;
  uint32_t file = kNone;
  uint32_t line = 0;  // 0 = the compiler names no line
  bool end_sequence = false;
};

// Shape: a parent stands before its children in `scopes`. Ranges are as the file says: empty ones,
//        and those of functions that the linker removed (starting at 0 or at the tombstone), are
//        left out. Line rows come sequence by sequence, each sorted by address.
struct Unit {
  uint64_t offset = 0;  // in .debug_info
  uint16_t version = 0;
  uint16_t language = 0;           // DW_LANG_*
  std::vector<std::string> files;  // whole paths: compilation directory, directory, name
  std::vector<Function> functions;
  std::vector<Scope> scopes;
  std::vector<Range> ranges;
  std::vector<LineRow> lines;

  void Clear();  // keeps the room
};

}  // namespace vesta::dwarf
