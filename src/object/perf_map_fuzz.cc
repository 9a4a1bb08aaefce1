#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/check.h"
#include "src/object/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  vesta::object::PerfMap map;
  const size_t half = map.Append(text.substr(0, size / 2));
  CHECK(half <= size / 2);
  const size_t taken = half + map.Append(text.substr(half));
  CHECK(taken <= size);
  // However the text was cut, the names are the same.
  vesta::object::PerfMap whole;
  CHECK(whole.Append(text) == taken);
  for (uint64_t address = 0; address < 512; ++address) {
    CHECK(whole.Find(address) == map.Find(address));
  }
  return 0;
}
