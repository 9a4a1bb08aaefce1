#include "src/symbolize/debug_file/debug_object.h"

#include <elf.h>

#include <array>
#include <utility>

#include "src/object/compressed_section.h"

namespace vesta::symbolize {
namespace {

using base::Result;

constexpr std::array<std::pair<const char*, dwarf::Bytes dwarf::Sections::*>, 9> kDwarfSections = {{
    {".debug_info", &dwarf::Sections::info},
    {".debug_abbrev", &dwarf::Sections::abbrev},
    {".debug_line", &dwarf::Sections::line},
    {".debug_str", &dwarf::Sections::str},
    {".debug_line_str", &dwarf::Sections::line_str},
    {".debug_str_offsets", &dwarf::Sections::str_offsets},
    {".debug_addr", &dwarf::Sections::addr},
    {".debug_ranges", &dwarf::Sections::ranges},
    {".debug_rnglists", &dwarf::Sections::rnglists},
}};

}  // namespace

void Reasons::Add(const std::string& text) {
  if (texts_.size() == kTextsMax) {
    ++left_out_count_;
    return;
  }
  texts_.push_back(text.substr(0, kTextBytesMax));
}

Result<std::unique_ptr<DebugObject>> DebugObject::OfFile(const base::FileSource& file,
                                                         std::string path, uint64_t size_bytes_max,
                                                         Unpacker& unpacker, Reasons& reasons) {
  std::unique_ptr<DebugObject> object(new DebugObject(std::move(path), unpacker, reasons));
  ASSIGN_OR_RETURN(object->mapping_, FileMapping::OfFile(file, size_bytes_max));
  RETURN_IF_ERROR(object->Parse(object->mapping_->bytes()));
  return object;
}

Result<std::unique_ptr<DebugObject>> DebugObject::OfBytes(std::vector<std::byte> bytes,
                                                          std::string path, Unpacker& unpacker,
                                                          Reasons& reasons) {
  std::unique_ptr<DebugObject> object(new DebugObject(std::move(path), unpacker, reasons));
  object->memory_ = std::move(bytes);
  RETURN_IF_ERROR(object->Parse(object->memory_));
  return object;
}

Result<void> DebugObject::Parse(std::span<const std::byte> bytes) {
  bytes_ = bytes;
  source_ = std::make_unique<base::MemorySource>(bytes_);
  ASSIGN_OR_RETURN(elf_, object::ElfFile::Parse(*source_));
  return {};
}

const object::Section* DebugObject::Find(std::string_view name, bool& is_zdebug) const {
  is_zdebug = false;
  if (const object::Section* section = elf_.FindSection(name)) {
    if (section->type != SHT_NOBITS && section->type != SHT_NULL) return section;
  }
  if (!name.starts_with(".debug_")) return nullptr;
  is_zdebug = true;
  return elf_.FindSection(".z" + std::string(name.substr(1)));
}

bool DebugObject::HasSection(std::string_view name) const {
  bool is_zdebug = false;
  const object::Section* section = Find(name, is_zdebug);
  return section != nullptr && section->size_bytes != 0;
}

std::span<const std::byte> DebugObject::Section(std::string_view name) {
  const auto known = sections_.find(name);
  if (known != sections_.end()) return known->second;
  bool is_zdebug = false;
  const object::Section* section = Find(name, is_zdebug);
  std::span<const std::byte> bytes;
  if (section != nullptr) {
    auto read = Read(*section, is_zdebug);
    if (read.ok()) {
      bytes = *read;
    } else {
      reasons_.Add(path_ + ": " + section->name + ": " + read.error().message());
    }
  }
  sections_.emplace(name, bytes);
  return bytes;
}

std::span<const std::byte> DebugObject::Stored(const object::Section& section) const {
  // Those that lie outside of the file have been given the type null.
  if (section.type == SHT_NOBITS || section.type == SHT_NULL) return {};
  return bytes_.subspan(section.file_offset, section.size_bytes);
}

Result<std::span<const std::byte>> DebugObject::Read(const object::Section& section,
                                                     bool is_zdebug) {
  const auto stored = Stored(section);
  if (!is_zdebug && (section.flags & SHF_COMPRESSED) == 0) return stored;
  ASSIGN_OR_RETURN(const auto compressed,
                   is_zdebug ? object::ReadZdebugSection(stored, unpacker_.bytes_left())
                             : object::ReadCompressedSection(stored, unpacker_.bytes_left()));
  ASSIGN_OR_RETURN(auto mapping, unpacker_.Unpack(compressed));
  LetGo(stored);
  unpacked_.push_back(std::move(mapping));
  return unpacked_.back()->bytes();
}

void DebugObject::LetGo(std::span<const std::byte> part) const {
  if (mapping_ != nullptr) mapping_->LetGo(part);
  for (const auto& mapping : unpacked_) mapping->LetGo(part);
}

dwarf::Sections& DebugObject::Dwarf(Part part) {
  std::optional<dwarf::Sections>& sections = part == Part::kOwn ? own_ : split_;
  if (!sections) {
    sections.emplace();
    for (const auto& [name, member] : kDwarfSections) {
      (*sections).*member = Section(part == Part::kOwn ? name : name + std::string(".dwo"));
    }
  }
  return *sections;
}

}  // namespace vesta::symbolize
