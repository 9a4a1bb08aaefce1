// Small ELF files for tests: load segments and a build id, and no code.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace vesta::test {

struct SmallSegment {
  uint64_t file_offset = 0;
  uint64_t vaddr = 0;
  uint64_t size_bytes = 0;
  bool executable = false;
};

// Segments must lie behind the headers or start at 0. `build_id` may be empty: then `filling` tells
// two files apart.
inline std::string MakeSmallElf(const std::vector<SmallSegment>& segments,
                                std::string_view build_id, char filling = '\0') {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);

  std::vector<Elf64_Phdr> program_headers;
  uint64_t file_bytes = 0;
  for (const SmallSegment& segment : segments) {
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    load.p_flags = segment.executable ? PF_R | PF_X : PF_R;
    load.p_offset = segment.file_offset;
    load.p_vaddr = segment.vaddr;
    load.p_filesz = load.p_memsz = segment.size_bytes;
    load.p_align = 4096;
    program_headers.push_back(load);
    file_bytes = std::max(file_bytes, segment.file_offset + segment.size_bytes);
  }
  std::string note;
  if (!build_id.empty()) {
    Elf64_Nhdr note_header{4, static_cast<Elf64_Word>(build_id.size()), NT_GNU_BUILD_ID};
    note.assign(reinterpret_cast<const char*>(&note_header), sizeof(note_header));
    note += std::string_view("GNU\0", 4);
    note += build_id;
    note.resize((note.size() + 3) / 4 * 4);
    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_flags = PF_R;
    notes.p_offset = sizeof(Elf64_Ehdr) + (program_headers.size() + 1) * sizeof(Elf64_Phdr);
    notes.p_filesz = notes.p_memsz = note.size();
    notes.p_align = 4;
    program_headers.push_back(notes);
  }
  header.e_phnum = static_cast<Elf64_Half>(program_headers.size());

  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(program_headers.data()),
               program_headers.size() * sizeof(Elf64_Phdr));
  bytes += note;
  if (bytes.size() < file_bytes) bytes.resize(file_bytes, filling);
  return bytes;
}

}  // namespace vesta::test
