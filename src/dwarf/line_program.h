// One unit's line number information: which files there are, and which line each address is of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/dwarf/sections.h"
#include "src/dwarf/unit.h"
#include "src/dwarf/unit_context.h"

namespace vesta::dwarf {

// Gives the place in Unit::files of a file by its number here; asked once per change of file.
using FileNumbering = std::function<uint32_t(uint64_t file_number)>;

struct LineLimits {
  uint64_t budget_bytes = 0;  // of programs still to be run; Run() takes from it
  size_t row_count_max = 0;   // of the whole vector
};

class LineTable {
 public:
  // Reads the header at that offset; the unit gives strings and the compilation directory and is
  // needed no longer than this. `header_bytes` is what was read.
  // Errors: Corrupt, Unsupported for other versions than 2 to 5.
  static base::Result<LineTable> Open(Bytes line, uint64_t offset, const UnitContext& unit,
                                      uint64_t& header_bytes);

  size_t file_count() const { return files_.size(); }
  // The whole path, "." and ".." in it left alone; empty when there is no such file.
  std::optional<std::string> PathOf(uint64_t file_number) const;

  enum class Outcome { kWhole, kDamaged, kCutByLimit };
  // Appends the rows of all finished sequences, without those of removed code. Rows that say the
  // same as the one before are left out; of several at one address the last one is kept.
  Outcome Run(const FileNumbering& numbering, LineLimits& limits, std::vector<LineRow>& rows);

 private:
  friend class LineProgram;
  struct File {
    std::string_view name;
    uint64_t directory = 0;
  };
  bool ReadOldEntries(base::ByteReader& reader);
  bool ReadNewEntries(base::ByteReader& reader, const UnitContext& unit, bool directories);

  Bytes program_;
  uint16_t version_ = 0;
  FormSizes sizes_;
  uint8_t instruction_bytes_min_ = 1;
  uint8_t operations_max_ = 1;
  int8_t line_base_ = 0;
  uint8_t line_range_ = 1;
  uint8_t opcode_base_ = 1;
  std::vector<uint8_t> opcode_lengths_;  // of opcode i + 1
  std::string_view comp_dir_;
  std::vector<std::string_view> directories_;
  std::vector<File> files_;
};

}  // namespace vesta::dwarf
