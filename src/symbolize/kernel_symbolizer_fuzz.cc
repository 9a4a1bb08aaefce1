#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/check.h"
#include "src/symbolize/kernel_symbolizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The first line without words cuts the input into the two files.
  const size_t cut = text.find("\n\n");
  const std::string_view kallsyms = text.substr(0, cut);
  const std::string_view modules =
      cut == std::string_view::npos ? std::string_view() : text.substr(cut + 2);
  const auto parsed = vesta::symbolize::KernelSymbolizer::Parse(kallsyms, modules);
  if (!parsed.ok()) return 0;
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{1}, uint64_t{0x1000}, uint64_t{0xffffffff81000080},
        uint64_t{0xffffffffa2a00f70}, uint64_t{0xffffffffc0201004}, ~uint64_t{0}}) {
    const auto location = (*parsed)->Resolve(address);
    CHECK(location.symbol.lines.size() <= 1);
  }
  return 0;
}
