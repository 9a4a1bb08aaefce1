// One ELF file that may hold debug information, open and mapped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/dwarf/sections.h"
#include "src/object/elf_file.h"
#include "src/symbolize/debug_file/file_mapping.h"

namespace vesta::symbolize {

// What could not be read and why, for people.
// Shape: bounded in number and length; what is beyond is counted.
class Reasons {
 public:
  void Add(const std::string& text);
  const std::vector<std::string>& texts() const { return texts_; }
  uint64_t left_out_count() const { return left_out_count_; }

 private:
  static constexpr size_t kTextsMax = 32;
  static constexpr size_t kTextBytesMax = 512;
  std::vector<std::string> texts_;
  uint64_t left_out_count_ = 0;
};

// Shape:  sections are given as they were before they were packed, whichever way that was; one that
//         cannot be unpacked is empty, and a reason says why.
// Owner:  one thread; unpacker and reasons outlive it. Views of bytes live as long as the object.
class DebugObject {
 public:
  // `path` is how people and links beside it know the file, as seen in its root.
  // Errors: as ElfFile::Parse and FileMapping::OfFile.
  static base::Result<std::unique_ptr<DebugObject>> OfFile(const base::FileSource& file,
                                                           std::string path,
                                                           uint64_t size_bytes_max,
                                                           Unpacker& unpacker, Reasons& reasons);
  static base::Result<std::unique_ptr<DebugObject>> OfBytes(std::vector<std::byte> bytes,
                                                            std::string path, Unpacker& unpacker,
                                                            Reasons& reasons);

  const std::string& path() const { return path_; }
  const object::ElfFile& elf() const { return elf_; }
  const base::ByteSource& source() const { return *source_; }

  bool HasSection(std::string_view name) const;
  std::span<const std::byte> Section(std::string_view name);

  // A section as it lies in the file; empty where it has no bytes there.
  std::span<const std::byte> Stored(const object::Section& section) const;

  // A part of a section, or the whole, that will not be read for a while: frees memory.
  void LetGo(std::span<const std::byte> part) const;

  // Those of the file itself, or the ones that are named .dwo: a file can have both.
  enum class Part { kOwn, kSplit };
  // Unpacks them on the first call.
  dwarf::Sections& Dwarf(Part part);

 private:
  DebugObject(std::string path, Unpacker& unpacker, Reasons& reasons)
      : path_(std::move(path)), unpacker_(unpacker), reasons_(reasons) {}
  base::Result<void> Parse(std::span<const std::byte> bytes);
  base::Result<std::span<const std::byte>> Read(const object::Section& section, bool is_zdebug);
  const object::Section* Find(std::string_view name, bool& is_zdebug) const;

  std::string path_;
  Unpacker& unpacker_;
  Reasons& reasons_;
  std::unique_ptr<FileMapping> mapping_;
  std::vector<std::byte> memory_;
  std::span<const std::byte> bytes_;
  std::unique_ptr<base::MemorySource> source_;
  object::ElfFile elf_;
  std::vector<std::unique_ptr<FileMapping>> unpacked_;
  std::map<std::string, std::span<const std::byte>, std::less<>> sections_;
  std::optional<dwarf::Sections> own_;
  std::optional<dwarf::Sections> split_;
};

}  // namespace vesta::symbolize
