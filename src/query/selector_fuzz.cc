#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/check.h"
#include "src/query/selector.h"

// A selector that can be read is printed as a text that reads back as the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto selector = vesta::query::ParseSelector(text);
  if (!selector.ok()) return 0;
  const auto again = vesta::query::ParseSelector(vesta::query::SelectorText(*selector));
  CHECK(again.ok());
  CHECK(*again == *selector);
  return 0;
}
