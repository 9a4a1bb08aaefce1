// Any bytes: the reader ends, stays inside them, and what it accepts holds together.
#include "src/base/json_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = vesta::base::ParseJson({reinterpret_cast<const char*>(data), size});
  if (parsed.ok()) {
    for (const auto& [key, value] : parsed->members()) CHECK(parsed->Find(key) != nullptr);
  }
  return 0;
}
