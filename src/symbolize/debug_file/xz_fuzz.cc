#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/check.h"
#include "src/symbolize/debug_file/xz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kBytesMax = 1 << 20;
  const auto bytes = vesta::symbolize::UnpackXz(std::as_bytes(std::span(data, size)), kBytesMax);
  CHECK(!bytes.ok() || bytes->size() <= kBytesMax);
  return 0;
}
