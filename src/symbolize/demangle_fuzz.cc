#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/check.h"
#include "src/symbolize/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const std::string readable = vesta::symbolize::Demangle(name);
  CHECK(readable.size() <= vesta::symbolize::kDemangledBytesMax + 16 * size);
  return 0;
}
