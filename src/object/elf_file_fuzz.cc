#include <cstddef>
#include <cstdint>

#include "src/base/check.h"
#include "src/object/elf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const vesta::base::MemorySource source(std::as_bytes(std::span(data, size)));
  const auto elf = vesta::object::ElfFile::Parse(source);
  if (!elf.ok()) return 0;
  const auto identity = vesta::object::ImageIdentity(*elf, source);
  CHECK(identity.ok() && identity->find(':') != std::string::npos);
  for (const auto& segment : elf->load_segments()) {
    if (segment.file_size_bytes == 0) continue;
    const auto first = elf->FileOffsetOf(segment.vaddr);
    CHECK(first.has_value() && *first < size);
    const auto last = elf->FileOffsetOf(segment.vaddr + segment.file_size_bytes - 1);
    CHECK(last.has_value() && *last < size);
    CHECK(elf->VaddrOf(segment.file_offset & ~uint64_t{4095}).has_value());
  }
  for (const auto& section : elf->sections()) {
    elf->FindSection(section.name);
    if (section.type == 0 || section.type == 8) continue;  // SHT_NULL, SHT_NOBITS
    CHECK(section.file_offset <= size && section.size_bytes <= size - section.file_offset);
  }
  return 0;
}
