#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "src/base/check.h"
#include "src/dwarf/dwarf_image_for_test.h"
#include "src/dwarf/unit_reader.h"

// The bytes are .debug_line, and strings of it as well.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vesta::dwarf;
  DwarfImage image;
  image.line.assign(reinterpret_cast<const char*>(data), size);
  image.line_str = image.line;
  image.AddUnit({}, UnitEntry({}, {{kAtStmtList, kFormSecOffset, U32(0), 0, ""},
                                   {kAtCompDir, kFormString, Text("/comp"), 0, ""}}));
  UnitReader reader(image.View());
  Unit unit;
  CHECK(reader.Next(unit));
  for (size_t i = 0; i < unit.lines.size(); ++i) {
    const LineRow& row = unit.lines[i];
    CHECK(row.file == kNone || row.file < unit.files.size());
    CHECK(row.end_sequence ||
          (i + 1 < unit.lines.size() && unit.lines[i + 1].address > row.address));
  }
  return 0;
}
