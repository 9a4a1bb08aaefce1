// Small ELF files for tests, put together by hand.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace vesta::object {

// One file: a header, then the parts come in the order in which they are added.
class ElfImage {
 public:
  ElfImage() : bytes_(sizeof(Elf64_Ehdr)) {
    header_ = {};
    std::memcpy(header_.e_ident, ELFMAG, SELFMAG);
    header_.e_ident[EI_CLASS] = ELFCLASS64;
    header_.e_ident[EI_DATA] = ELFDATA2LSB;
    header_.e_machine = EM_X86_64;
    header_.e_type = ET_DYN;
    header_.e_entry = 0x1010;
    header_.e_phentsize = sizeof(Elf64_Phdr);
    header_.e_shentsize = sizeof(Elf64_Shdr);
  }

  Elf64_Ehdr& header() { return header_; }

  template <typename T>
  uint64_t Add(const std::vector<T>& table) {
    const auto part = std::as_bytes(std::span(table));
    bytes_.insert(bytes_.end(), part.begin(), part.end());
    return bytes_.size() - part.size();
  }
  uint64_t AddText(std::string_view text) {
    return Add(std::vector<char>(text.begin(), text.end()));
  }
  void SetSegments(const std::vector<Elf64_Phdr>& segments) {
    header_.e_phoff = Add(segments);
    header_.e_phnum = static_cast<Elf64_Half>(segments.size());
  }
  void SetSections(const std::vector<Elf64_Shdr>& sections) {
    header_.e_shoff = Add(sections);
    header_.e_shnum = static_cast<Elf64_Half>(sections.size());
  }

  const std::vector<std::byte>& bytes() {
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return bytes_;
  }

 private:
  Elf64_Ehdr header_;
  std::vector<std::byte> bytes_;
};

inline Elf64_Phdr Segment(uint32_t type, uint32_t flags, uint64_t offset, uint64_t vaddr,
                          uint64_t size) {
  Elf64_Phdr segment{};
  segment.p_type = type;
  segment.p_flags = flags;
  segment.p_offset = offset;
  segment.p_vaddr = vaddr;
  segment.p_filesz = size;
  segment.p_memsz = size;
  segment.p_align = 4;
  return segment;
}

inline Elf64_Shdr SectionHeader(uint32_t name, uint32_t type, uint64_t offset, uint64_t size) {
  Elf64_Shdr section{};
  section.sh_name = name;
  section.sh_type = type;
  section.sh_offset = offset;
  section.sh_size = size;
  return section;
}

}  // namespace vesta::object
