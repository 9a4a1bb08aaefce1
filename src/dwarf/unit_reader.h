// Reads the code of a file's debug information, one compilation unit after the other.
#pragma once

#include <cstdint>
#include <memory>

#include "src/dwarf/abbreviation.h"
#include "src/dwarf/function_table.h"
#include "src/dwarf/sections.h"
#include "src/dwarf/unit.h"
#include "src/dwarf/unit_cache.h"
#include "src/dwarf/unit_context.h"

namespace vesta::dwarf {

struct ReaderStats {
  uint64_t unit_count = 0;            // given by Next()
  uint64_t damaged_count = 0;         // units that were skipped as they make no sense
  uint64_t truncated_count = 0;       // units of which a limit of ours cut something off
  uint64_t line_damaged_count = 0;    // units whose line table is not there or ends badly
  uint64_t split_missing_count = 0;   // skeletons whose .dwo was not found or does not fit
  uint64_t lost_reference_count = 0;  // origins and declarations that lead nowhere
  uint64_t damaged_range_list_count = 0;
};

// Owner:  one thread. Sections and what SplitSource gives must live as long as the reader.
// Cost:   one pass over the bytes; memory for the largest unit and some tables (64 MB at most).
//         Work on hostile files is bounded: nesting, rows, and how often the same bytes are read.
// Errors: none; what is damaged is skipped and counted. Damage that hides where the next unit
//         begins ends the file.
class UnitReader {
 public:
  explicit UnitReader(const Sections& sections, SplitSource split_source = {});

  // Fills `unit` with the next compilation unit that may have code; false at the end.
  bool Next(Unit& unit);

  uint64_t position_bytes() const { return position_; }
  uint64_t size_bytes() const { return sections_.info.size(); }
  const ReaderStats& stats() const { return stats_; }

 private:
  bool ReadUnit(uint64_t offset, Unit& unit);
  std::unique_ptr<UnitContext> OpenSplit(const UnitContext& skeleton);

  const Sections sections_;
  SplitSource split_source_;
  Budget budget_;
  AbbreviationCache abbreviations_;
  UnitCache cache_;
  ReaderStats stats_;
  uint64_t position_ = 0;
};

}  // namespace vesta::dwarf
