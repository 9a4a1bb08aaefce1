// The index of a .dwp package: which parts of its sections belong to which split unit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "src/base/result.h"
#include "src/dwarf/sections.h"

namespace vesta::dwarf {

// Shape:  reads .debug_cu_index or .debug_tu_index where it lies; versions 2 (GNU) and 5.
// Owner:  the caller keeps the bytes.
// Errors: of Parse: Corrupt when its tables are larger than its bytes, Unsupported for other
//         versions.
class SplitPackage {
 public:
  static base::Result<SplitPackage> Parse(Bytes index);

  // The parts of `whole` (the sections of the package, ".debug_info.dwo" and so on) that belong to
  // the unit with this id, or the type unit with this signature. Strings are shared by all. Empty
  // when the package has no such unit, or says parts that lie outside.
  std::optional<Sections> Find(uint64_t id, const Sections& whole) const;

  uint32_t unit_count() const { return unit_count_; }

 private:
  static constexpr size_t kColumnsMax = 16;

  uint32_t Number(uint64_t place) const;

  Bytes index_;
  uint16_t version_ = 0;
  uint32_t column_count_ = 0;
  uint32_t unit_count_ = 0;
  uint32_t slot_count_ = 0;
  std::array<uint32_t, kColumnsMax> columns_{};  // DW_SECT_*
};

}  // namespace vesta::dwarf
