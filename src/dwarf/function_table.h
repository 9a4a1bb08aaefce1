// The functions of one unit, found by where they are declared: in the unit itself, in another one
// (link time optimisation, partial units) or in the alternate file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/dwarf/line_program.h"
#include "src/dwarf/unit.h"
#include "src/dwarf/unit_cache.h"
#include "src/dwarf/unit_context.h"

namespace vesta::dwarf {

// What may be spent on a whole file, so that a hostile one is given up rather than read for ever.
struct Budget {
  uint64_t range_bytes = 0;
  uint64_t line_bytes = 0;
  uint64_t reference_bytes = 0;  // of entries that others refer to
  uint64_t name_bytes = 0;
  uint64_t split_bytes = 0;  // of units in .dwo files
};

class FunctionTable {
 public:
  // `unit` is the one that is read, `line_table` the one that its file numbers mean (nullptr:
  // none); both must live as long as this.
  FunctionTable(const UnitContext& unit, const LineTable* line_table, UnitCache& cache,
                Budget& budget, Unit& out);

  // The function of an entry of the unit: what it says itself, else what it refers to. `place` is
  // the entry's own. kNone only when an inlined copy refers to nothing.
  uint32_t Of(uint64_t entry_offset, const EntryValues& values);

  // The place in Unit::files of a file of the line table.
  uint32_t FileOf(uint64_t file_number);

  bool budget_spent() const { return budget_spent_; }
  uint64_t lost_reference_count() const { return lost_reference_count_; }

 private:
  void Complete(Function& function, const UnitContext& context, const EntryValues& values);
  void Follow(Function& function, std::optional<EntryPlace> place);
  const UnitContext* ContextOf(const EntryPlace& place);
  uint32_t FileOf(const UnitContext& context, uint64_t file_number);
  uint32_t AddFile(std::optional<std::string> path);
  std::string_view Name(const UnitContext& context, const Value& value);
  static std::optional<EntryPlace> NextPlace(const UnitContext& context, const EntryValues& values);
  uint64_t KeyOf(const EntryPlace& place) const;

  struct ForeignFile {
    const std::byte* unit = nullptr;
    uint64_t number = 0;
    bool operator==(const ForeignFile&) const = default;
  };
  struct ForeignFileHash {
    size_t operator()(const ForeignFile& file) const {
      return std::hash<const std::byte*>()(file.unit) ^
             std::hash<uint64_t>()(file.number * 0x9e3779b97f4a7c15u);
    }
  };

  const UnitContext& unit_;
  const LineTable* line_table_;
  UnitCache& cache_;
  Budget& budget_;
  Unit& out_;
  std::unordered_map<uint64_t, uint32_t> functions_;  // by key of the entry
  std::vector<uint32_t> files_;                       // by number in the line table
  std::unordered_map<ForeignFile, uint32_t, ForeignFileHash> foreign_files_;
  size_t path_bytes_ = 0;
  bool budget_spent_ = false;
  uint64_t lost_reference_count_ = 0;
};

}  // namespace vesta::dwarf
