// Builds the symbol index of one image: from its debug information, and from its symbol tables for
// the code that this does not cover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/dwarf/unit.h"
#include "src/symbolize/index/address_runs.h"
#include "src/symbolize/index/flatten.h"
#include "src/symbolize/index/string_pool.h"
#include "src/symbolize/index/symbol_index.h"

namespace vesta::symbolize {

struct IndexWriterOptions {
  // Image addresses where the code lies; what is said of others is left out. Below 4 GiB in all.
  dwarf::Range code;
  // Of what the writer keeps and of its work on one unit.
  size_t memory_bytes_max = std::numeric_limits<size_t>::max();
};

struct IndexStats {
  uint64_t unit_count = 0;
  uint64_t piece_count = 0;     // stretches of code with one place
  uint64_t outside_count = 0;   // ranges and functions that lie outside of the code, or in part
  uint64_t function_count = 0;  // distinct ones
  uint64_t file_bytes = 0;      // of the index; after Write
  size_t memory_bytes = 0;      // the most that was held
};

// How far a function reaches: to its end, or, where a symbol has no size, as far as nothing else is
// known.
enum class FunctionEnd { kKnown, kGuessed };

// Shape:  units in the order in which the file has them. Of overlapping scopes the deepest holds;
//         of units the first that knows function and line. Functions of AddFunction name the code
//         that no unit names, and give their linkage name to out-of-line functions of units that
//         begin at the same address and have no mangled one (but not a part's name, "f.cold");
//         where they overlap, the one that starts last holds, of those that start together the
//         first, any with a known end before those without.
// Owner:  one thread; strings are copied.
// Cost:   AddUnit is O(n log n) in the unit. Memory is that of the distinct strings and functions,
//         and some 5 bytes per stretch of code with one line; see memory_bytes().
// Errors: of Write: Exhausted when the memory limit or 32 bits do not suffice (what is added after
//         that is ignored), Unsupported when the code spans 4 GiB, else as write(2).
class IndexWriter {
 public:
  explicit IndexWriter(const IndexWriterOptions& options);

  void AddUnit(const dwarf::Unit& unit);
  void AddFunction(uint64_t start, uint64_t end, const IndexFunction& function,
                   FunctionEnd kind = FunctionEnd::kKnown);

  // Writes the index to a regular file that is empty, front to end and the header last: what broke
  // off is no index. Ends the use of the object.
  base::Result<void> Write(int fd, std::string_view identity);

  const IndexStats& stats() const { return stats_; }
  size_t memory_bytes() const;

 private:
  struct Symbol {
    uint32_t start = 0;
    uint32_t end = 0;
    FunctionEnd kind = FunctionEnd::kKnown;
    FunctionRecord function;
    uint32_t node = 0;  // made when it is needed
  };
  // An out-of-line function of a unit without mangled name.
  struct Bare {
    uint32_t start = 0;
    uint32_t function = 0;
  };
  class PlaceWriter;

  bool Failed() const { return failure_.has_value(); }
  void CheckLimit();
  // Cuts a range to the code, as offsets; false when nothing is left.
  bool Clip(uint64_t start, uint64_t end, uint32_t& from, uint32_t& to) const;

  void ClaimScopes(const dwarf::Unit& unit);
  void ClaimRows(const dwarf::Unit& unit);
  void JoinPieces(const dwarf::Unit& unit);
  void AddPiece(const dwarf::Unit& unit, uint32_t start, uint32_t end, uint32_t scope,
                uint32_t row);
  uint32_t NodeOf(const dwarf::Unit& unit, uint32_t scope);
  uint32_t AppendNode(const dwarf::Unit& unit, uint32_t scope, uint32_t parent);
  uint32_t AppendRoot(uint32_t function);
  uint32_t FunctionOf(const dwarf::Unit& unit, uint32_t function);
  uint32_t BareFunctionOf(const dwarf::Unit& unit, const dwarf::Scope& scope);
  FunctionRecord RecordOf(const dwarf::Unit& unit, uint32_t function);
  uint32_t FileOf(const dwarf::Unit& unit, uint32_t file);
  uint32_t InternFile(std::string_view path);
  uint32_t InternFunction(const FunctionRecord& record);
  uint32_t FunctionOfNode(uint32_t node) const;

  void FlattenSymbols();
  void NameBareFunctions();

  uint64_t base_ = 0;
  uint32_t span_bytes_ = 0;
  size_t memory_bytes_max_;
  std::optional<base::Error> failure_;
  IndexStats stats_;

  StringPool strings_;
  std::vector<uint32_t> files_;  // strings
  IdTable file_table_;
  std::vector<FunctionRecord> functions_;
  IdTable function_table_;
  std::vector<std::byte> nodes_;
  AddressRuns runs_;
  std::vector<Symbol> symbols_;
  std::vector<Piece> symbol_pieces_;  // value: place in symbols_
  std::vector<Bare> bare_functions_;

  // Of the unit at hand; 0 = not asked for yet, else one more than the value.
  std::vector<uint32_t> unit_files_;
  std::vector<uint32_t> unit_functions_;
  std::vector<uint32_t> unit_nodes_;
  std::vector<uint32_t> unit_depths_;
  std::vector<Claim> claims_;
  std::vector<Piece> scope_pieces_;
  std::vector<Piece> row_pieces_;
};

}  // namespace vesta::symbolize
