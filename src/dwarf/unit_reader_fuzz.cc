#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/byte_reader.h"
#include "src/base/check.h"
#include "src/dwarf/split_package.h"
#include "src/dwarf/unit_reader.h"

namespace {

using vesta::dwarf::Bytes;
using vesta::dwarf::kNone;
using vesta::dwarf::Sections;
using vesta::dwarf::Unit;

// Each part is {file u8 << 4 | section u8, size u16, bytes}; files: the program, its alternate, and
// what split units are in. Section 9 is the index of a package.
struct Files {
  std::array<Sections, 3> files;
  Bytes package_index;
};

Files Unpack(Bytes data) {
  constexpr std::array<Bytes Sections::*, 9> kMembers = {
      &Sections::info, &Sections::abbrev,   &Sections::line,
      &Sections::str,  &Sections::line_str, &Sections::str_offsets,
      &Sections::addr, &Sections::ranges,   &Sections::rnglists};
  Files all;
  vesta::base::ByteReader reader(data);
  while (reader.remaining() >= 3) {
    const auto tag = reader.Read<uint8_t>();
    const size_t size = reader.Read<uint16_t>();
    const Bytes bytes = reader.ReadBytes(size < reader.remaining() ? size : reader.remaining());
    const size_t section = tag & 0xfu;
    if (section < kMembers.size()) all.files[(tag >> 4) % 3u].*kMembers[section] = bytes;
    if (section == 9) all.package_index = bytes;
  }
  return all;
}

void Check(const Unit& unit) {
  for (const auto& function : unit.functions) {
    CHECK(function.file == kNone || function.file < unit.files.size());
    CHECK(function.name.size() <= vesta::dwarf::kNameBytesMax);
  }
  for (size_t i = 0; i < unit.scopes.size(); ++i) {
    const auto& scope = unit.scopes[i];
    CHECK(scope.function == kNone || scope.function < unit.functions.size());
    CHECK(scope.parent == kNone || scope.parent < i);
    CHECK(scope.call_file == kNone || scope.call_file < unit.files.size());
    CHECK(size_t{scope.range_first} + scope.range_count <= unit.ranges.size());
  }
  for (const auto& range : unit.ranges) CHECK(range.start != 0 && range.start < range.end);
  for (size_t i = 0; i < unit.lines.size(); ++i) {
    const auto& row = unit.lines[i];
    CHECK(row.file == kNone || row.file < unit.files.size());
    CHECK(row.end_sequence ||
          (i + 1 < unit.lines.size() && unit.lines[i + 1].address > row.address));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Files all = Unpack(std::as_bytes(std::span(data, size)));
  all.files[0].alternate = &all.files[1];
  all.files[2].alternate = &all.files[1];
  const auto package = vesta::dwarf::SplitPackage::Parse(all.package_index);
  Sections part;
  vesta::dwarf::UnitReader reader(
      all.files[0], [&](std::string_view, std::string_view, uint64_t id) -> const Sections* {
        if (!package.ok()) return &all.files[2];
        const auto found = package->Find(id, all.files[2]);
        if (!found) return nullptr;
        part = *found;
        return &part;
      });
  Unit unit;
  while (reader.Next(unit)) Check(unit);
  CHECK(reader.position_bytes() == reader.size_bytes());
  return 0;
}
