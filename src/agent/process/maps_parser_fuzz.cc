// Any bytes in place of /proc/PID/maps: no crash, and every mapping that comes out is sane.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/agent/process/maps_parser.h"
#include "src/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vesta::agent::process;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  MapsParser parser(text);
  size_t entry_count = 0;
  while (const auto entry = parser.Next()) {
    CHECK(entry->start < entry->end);
    CHECK(entry->kind != MappingKind::kVsyscall);
    CHECK(entry->path.size() <= size);
    if (const auto below = parser.FileBelow()) {
      CHECK(below->start < below->end && below->kind == MappingKind::kFile);
    }
    ++entry_count;
  }
  CHECK(entry_count + parser.damaged_line_count() <= size + 1);
  return 0;
}
