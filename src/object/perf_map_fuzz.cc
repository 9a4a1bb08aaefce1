#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/check.h"
#include "src/object/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vesta::object::PerfMapParser;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  PerfMapParser whole(text);
  CHECK(whole.whole_lines_bytes() <= size);
  // However the text is cut, its lines are the same.
  PerfMapParser first(text.substr(0, size / 2));
  PerfMapParser second(text.substr(first.whole_lines_bytes()));
  while (const auto line = whole.Next()) {
    CHECK(line->start < line->end);
    CHECK(!line->name.empty() && line->name.size() <= vesta::object::kPerfMapNameBytesMax);
    CHECK(line->line_offset < whole.whole_lines_bytes());
    auto part = first.Next();
    if (!part) part = second.Next();
    CHECK(part && part->start == line->start && part->end == line->end);
    CHECK(part->name == line->name);
  }
  CHECK(!first.Next() && !second.Next());
  CHECK(whole.skipped_line_count() == first.skipped_line_count() + second.skipped_line_count());
  return 0;
}
