// A unit's header and what its first entry says: all that is needed to read the values of its
// entries, also for references from other units.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "src/base/result.h"
#include "src/dwarf/abbreviation.h"
#include "src/dwarf/sections.h"

namespace vesta::dwarf {

// Names are cut here: no linker's symbol is as long, and a string table of one huge string would
// be searched for its end at each name.
inline constexpr size_t kNameBytesMax = size_t{64} << 10;

// Shape: offsets are in .debug_info (or .debug_info.dwo) of `sections`.
struct UnitHeader {
  uint64_t offset = 0;
  uint64_t end = 0;
  uint64_t first_entry = 0;
  uint64_t abbrev_offset = 0;
  uint64_t dwo_id = 0;
  uint16_t version = 0;
  uint8_t unit_type = 0;  // DW_UT_*; of version 2 to 4 DW_UT_compile
  FormSizes sizes;
};

// Reads the header at that offset.
// Errors: Corrupt when its length leads out of the section, so that no unit after it can be found;
//         Unsupported for a version or address size that is not known: `header.end` is set.
base::Result<void> ReadUnitHeader(Bytes info, uint64_t offset, UnitHeader& header);

// A place in .debug_info.
struct EntryPlace {
  const Sections* sections = nullptr;
  uint64_t offset = 0;
};

class UnitContext {
 public:
  // Errors: as ReadUnitHeader and of the abbreviations; Corrupt when there is no first entry that
  // tells a unit.
  static base::Result<std::unique_ptr<UnitContext>> Open(const Sections& sections, uint64_t offset,
                                                         AbbreviationCache& abbreviations);

  const Sections& sections() const { return *sections_; }
  const UnitHeader& header() const { return header_; }
  const AbbreviationTable& abbreviations() const { return *abbreviations_; }
  uint16_t tag() const { return tag_; }
  bool has_children() const { return has_children_; }
  uint64_t children() const { return children_; }  // offset of the first one
  uint16_t language() const { return language_; }
  uint64_t low_pc() const { return low_pc_; }
  uint64_t dwo_id() const { return header_.dwo_id; }
  std::string_view name() const { return name_; }
  std::string_view comp_dir() const { return comp_dir_; }
  std::string_view dwo_name() const { return dwo_name_; }
  std::optional<uint64_t> line_offset() const { return line_offset_; }
  // The unit of a .dwo file takes addresses, ranges and files from its skeleton, which must live
  // as long. nullptr for others.
  const UnitContext* skeleton() const { return skeleton_; }
  void set_skeleton(const UnitContext* skeleton);

  // A reader over .debug_info that cannot leave the unit.
  base::ByteReader ReaderAt(uint64_t offset) const;

  // Meaning of a value, by its form. Empty, or not there, where it leads out of the sections.
  std::string_view String(const Value& value) const;
  std::optional<uint64_t> Address(const Value& value) const;
  std::optional<uint64_t> AddressAt(uint64_t index) const;
  std::optional<EntryPlace> Reference(const Value& value) const;
  // Whether the value is an offset from DW_AT_low_pc rather than an address.
  static bool IsConstant(const Value& value);

  uint64_t rnglists_base() const { return rnglists_base_; }
  uint64_t gnu_ranges_base() const { return gnu_ranges_base_; }

 private:
  UnitContext() = default;
  base::Result<void> ReadFirstEntry();

  const Sections* sections_ = nullptr;
  UnitHeader header_;
  std::shared_ptr<const AbbreviationTable> abbreviations_;
  const UnitContext* skeleton_ = nullptr;
  uint16_t tag_ = 0;
  uint16_t language_ = 0;
  bool has_children_ = false;
  uint64_t children_ = 0;
  uint64_t low_pc_ = 0;
  uint64_t str_offsets_base_ = 0;
  uint64_t addr_base_ = 0;
  uint64_t rnglists_base_ = 0;
  uint64_t gnu_ranges_base_ = 0;
  std::optional<uint64_t> line_offset_;
  std::string_view name_;
  std::string_view comp_dir_;
  std::string_view dwo_name_;
};

// The string that starts at an offset of a string section, cut at kNameBytesMax.
std::string_view StringAt(Bytes section, uint64_t offset);

// Whether linkers write this for the address of code that they removed: 0, and the last addresses
// of the address space.
bool IsTombstone(uint64_t address, uint8_t address_bytes);

}  // namespace vesta::dwarf
