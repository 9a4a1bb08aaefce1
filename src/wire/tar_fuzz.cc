// Fuzzes the reader of tar archives; what it gives must lie within what it got.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/wire/tar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto entries = vesta::wire::ReadTar(bytes);
  if (!entries.ok()) return 0;
  for (const auto& entry : *entries) {
    if (entry.bytes.data() < bytes.data() ||
        entry.bytes.data() + entry.bytes.size() > bytes.data() + bytes.size()) {
      std::abort();
    }
  }
  return 0;
}
