#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/check.h"
#include "src/object/elf_file.h"
#include "src/symbolize/elf_symbolizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const vesta::base::MemorySource source(std::as_bytes(std::span(data, size)));
  const auto elf = vesta::object::ElfFile::Parse(source);
  if (!elf.ok()) return 0;
  // Addresses where something can be: around the starts and ends of the code sections.
  std::vector<uint64_t> addresses;
  for (const vesta::object::Section& section : elf->sections()) {
    if ((section.flags & 4) == 0 || addresses.size() > 64) continue;
    const uint64_t last = addresses.empty() ? 0 : addresses.back();
    for (const uint64_t distance : {uint64_t{0}, uint64_t{3}, uint64_t{16}, section.size_bytes}) {
      const uint64_t address = section.vaddr + distance;
      if (address > last && (addresses.empty() || address > addresses.back())) {
        addresses.push_back(address);
      }
    }
  }
  const auto symbols = vesta::symbolize::ResolveElfSymbols(*elf, source, addresses);
  CHECK(!symbols.ok() || symbols->size() == addresses.size());
  return 0;
}
