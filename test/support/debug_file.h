// Debug information of a file on disk, read and decompressed as src/dwarf wants it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/dwarf/sections.h"
#include "src/object/compressed_section.h"
#include "src/object/elf_file.h"

namespace vesta::test {

class DebugFile {
 public:
  // `suffix` is ".dwo" for the sections of a split file, else "".
  static base::Result<std::unique_ptr<DebugFile>> Open(const std::string& path,
                                                       const std::string& suffix = "") {
    ASSIGN_OR_RETURN(auto source, base::FileSource::Open(path));
    ASSIGN_OR_RETURN(const auto elf, object::ElfFile::Parse(*source));
    auto file = std::make_unique<DebugFile>();
    using dwarf::Bytes;
    using dwarf::Sections;
    const std::array<std::pair<const char*, Bytes Sections::*>, 9> names = {{
        {".debug_info", &Sections::info},
        {".debug_abbrev", &Sections::abbrev},
        {".debug_line", &Sections::line},
        {".debug_str", &Sections::str},
        {".debug_line_str", &Sections::line_str},
        {".debug_str_offsets", &Sections::str_offsets},
        {".debug_addr", &Sections::addr},
        {".debug_ranges", &Sections::ranges},
        {".debug_rnglists", &Sections::rnglists},
    }};
    for (const auto& [name, member] : names) {
      ASSIGN_OR_RETURN(file->sections_.*member, file->Load(elf, *source, name + suffix));
    }
    ASSIGN_OR_RETURN(file->cu_index_, file->Load(elf, *source, ".debug_cu_index"));
    ASSIGN_OR_RETURN(const Bytes link, file->Load(elf, *source, ".gnu_debugaltlink"));
    file->alternate_path_ = std::string(reinterpret_cast<const char*>(link.data()), link.size());
    file->alternate_path_.resize(std::min(file->alternate_path_.find('\0'), link.size()));
    return file;
  }

  const dwarf::Sections& sections() const { return sections_; }
  dwarf::Bytes cu_index() const { return cu_index_; }
  // As .gnu_debugaltlink says it; empty when there is none.
  const std::string& alternate_path() const { return alternate_path_; }
  void set_alternate(const DebugFile& file) { sections_.alternate = &file.sections_; }

 private:
  static constexpr uint64_t kCompressed = 0x800;  // SHF_COMPRESSED
  static constexpr uint64_t kSectionBytesMax = uint64_t{8} << 30;

  base::Result<dwarf::Bytes> Load(const object::ElfFile& elf, const base::ByteSource& source,
                                  const std::string& name) {
    const object::Section* section = elf.FindSection(name);
    if (section == nullptr || section->type == 8 /* SHT_NOBITS */) return dwarf::Bytes();
    ASSIGN_OR_RETURN(auto stored, source.Read(section->file_offset, section->size_bytes));
    if ((section->flags & kCompressed) == 0) {
      stored_.push_back(std::move(stored));
      return dwarf::Bytes(stored_.back());
    }
    ASSIGN_OR_RETURN(auto whole, object::DecompressSection(stored, kSectionBytesMax));
    decompressed_.push_back(std::move(whole));
    return dwarf::Bytes(decompressed_.back().bytes.get(), decompressed_.back().size_bytes);
  }

  dwarf::Sections sections_;
  dwarf::Bytes cu_index_;
  std::string alternate_path_;
  std::vector<std::vector<std::byte>> stored_;  // moving a vector keeps its bytes in place
  std::vector<object::DecompressedSection> decompressed_;
};

}  // namespace vesta::test
