// Debug information put together by hand: entries as a tree, one abbreviation each.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/dwarf/constants.h"
#include "src/dwarf/sections.h"

namespace vesta::dwarf {

inline std::string Fixed(uint64_t value, size_t bytes) {
  std::string text(bytes, '\0');
  std::memcpy(text.data(), &value, bytes);
  return text;
}
inline std::string U8(uint64_t value) { return Fixed(value, 1); }
inline std::string U16(uint64_t value) { return Fixed(value, 2); }
inline std::string U32(uint64_t value) { return Fixed(value, 4); }
inline std::string U64(uint64_t value) { return Fixed(value, 8); }
inline std::string Uleb(uint64_t value, size_t bytes_min = 1) {
  std::string text;
  do {
    const bool more = value >= 0x80 || text.size() + 1 < bytes_min;
    text += static_cast<char>((value & 0x7f) | (more ? 0x80 : 0));
    value >>= 7;
  } while (value != 0 || text.size() < bytes_min);
  return text;
}
inline std::string Sleb(int64_t value) {
  std::string text;
  while (true) {
    const auto low = static_cast<char>(value & 0x7f);
    value >>= 7;
    const bool done = (value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0);
    text += done ? low : static_cast<char>(low | 0x80);
    if (done) return text;
  }
}
inline std::string Text(const std::string& text) { return text + '\0'; }

struct Attribute {
  uint16_t name = 0;
  uint16_t form = 0;
  std::string bytes;
  int64_t implicit_const = 0;
  std::string target;  // of a reference: the label of an entry, written instead of `bytes`
};

struct Entry {
  uint16_t tag = 0;
  std::vector<Attribute> attributes;
  std::vector<Entry> children;
  std::string label;
};

struct UnitShape {
  uint16_t version = 5;
  uint8_t unit_type = kUnitCompile;
  uint8_t address_bytes = 8;
  uint8_t offset_bytes = 4;
  uint64_t id = 0;  // of a skeleton, split or type unit
};

// The sections of one file; units are added one after the other.
class DwarfImage {
 public:
  std::string info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;

  // Labels of earlier units may be referred to by DW_FORM_ref_addr.
  void AddUnit(const UnitShape& shape, const Entry& first) {
    const uint64_t abbrev_offset = abbrev.size();
    std::string body;
    for (int pass = 0; pass < 2; ++pass) {  // the second one knows where labels are
      abbrev.resize(abbrev_offset);
      code_ = 0;
      body = Header(shape, abbrev_offset);
      const size_t length_bytes = shape.offset_bytes == 8 ? 12 : 4;
      unit_start_ = info.size();
      AddEntry(first, shape, unit_start_ + length_bytes, body);
      abbrev += '\0';
    }
    info += shape.offset_bytes == 8 ? U32(0xffffffff) + U64(body.size()) : U32(body.size());
    info += body;
  }

  uint64_t OffsetOf(const std::string& label) const { return labels_.at(label); }

  Sections View() const {
    Sections sections;
    const auto view = [](const std::string& text) {
      return Bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    };
    sections.info = view(info);
    sections.abbrev = view(abbrev);
    sections.line = view(line);
    sections.str = view(str);
    sections.line_str = view(line_str);
    sections.str_offsets = view(str_offsets);
    sections.addr = view(addr);
    sections.ranges = view(ranges);
    sections.rnglists = view(rnglists);
    return sections;
  }

 private:
  static std::string Header(const UnitShape& shape, uint64_t abbrev_offset) {
    std::string text = U16(shape.version);
    const std::string offset = Fixed(abbrev_offset, shape.offset_bytes);
    if (shape.version < 5) return text + offset + U8(shape.address_bytes);
    text += U8(shape.unit_type) + U8(shape.address_bytes) + offset;
    switch (shape.unit_type) {
      case kUnitSkeleton:
      case kUnitSplitCompile:
        return text + U64(shape.id);
      case kUnitType:
      case kUnitSplitType:
        return text + U64(shape.id) + Fixed(0, shape.offset_bytes);
      default:
        return text;
    }
  }

  std::string Reference(const Attribute& attribute, const UnitShape& shape) const {
    const auto found = labels_.find(attribute.target);
    const uint64_t place = found == labels_.end() ? 0 : found->second;
    const uint64_t in_unit = place - unit_start_;
    switch (attribute.form) {
      case kFormRef1:
        return U8(in_unit);
      case kFormRef2:
        return U16(in_unit);
      case kFormRef8:
        return U64(in_unit);
      case kFormRefUdata:
        return Uleb(in_unit, 3);
      case kFormRefAddr:
        return Fixed(place, shape.version == 2 ? shape.address_bytes : shape.offset_bytes);
      default:
        return U32(in_unit);
    }
  }

  void AddEntry(const Entry& entry, const UnitShape& shape, uint64_t start, std::string& body) {
    if (!entry.label.empty()) labels_[entry.label] = start + body.size();
    ++code_;
    body += Uleb(code_);
    abbrev += Uleb(code_) + Uleb(entry.tag) + U8(entry.children.empty() ? 0 : 1);
    for (const Attribute& attribute : entry.attributes) {
      abbrev += Uleb(attribute.name) + Uleb(attribute.form);
      if (attribute.form == kFormImplicitConst) abbrev += Sleb(attribute.implicit_const);
      body += attribute.target.empty() ? attribute.bytes : Reference(attribute, shape);
    }
    abbrev += std::string(2, '\0');
    if (entry.children.empty()) return;
    for (const Entry& child : entry.children) AddEntry(child, shape, start, body);
    body += '\0';
  }

  uint64_t code_ = 0;
  uint64_t unit_start_ = 0;
  std::map<std::string, uint64_t> labels_;
};

// A function of 16 bytes at that address.
inline Entry FunctionEntry(const std::string& name, uint64_t start,
                           std::vector<Entry> children = {}) {
  Entry entry{kTagSubprogram,
              {{kAtName, kFormString, Text(name), 0, ""},
               {kAtLowPc, kFormAddr, U64(start), 0, ""},
               {kAtHighPc, kFormData1, U8(16), 0, ""}},
              std::move(children),
              ""};
  return entry;
}

inline Entry UnitEntry(std::vector<Entry> children, std::vector<Attribute> attributes = {}) {
  return {kTagCompileUnit, std::move(attributes), std::move(children), ""};
}

}  // namespace vesta::dwarf
