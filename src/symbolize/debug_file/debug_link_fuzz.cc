#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/check.h"
#include "src/symbolize/debug_file/debug_link.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto section = std::as_bytes(std::span(data, size));
  if (const auto link = vesta::symbolize::ReadDebugLink(section)) {
    CHECK(!link->name.empty() && link->name.find('/') == std::string::npos);
  }
  if (const auto link = vesta::symbolize::ReadAlternateLink(section)) {
    CHECK(!link->path.empty());
    CHECK(!vesta::symbolize::BuildIdPath(link->build_id).empty());
  }
  return 0;
}
