// Go's function table as the index wants it: units of functions, inlined copies and lines, as if
// the program still had its debug information.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/dwarf/unit.h"
#include "src/object/go_pclntab.h"

namespace vesta::symbolize {

// Owner: one thread; the table outlives the reader.
// Cost:  one pass over the table; memory for some hundred functions.
class GoUnits {
 public:
  explicit GoUnits(object::GoPclntab& table) : table_(table) {}

  // Fills `unit` with the next functions; false at the end. Its strings live until the next call.
  bool Next(dwarf::Unit& unit);

  uint64_t damaged_count() const { return damaged_count_; }

 private:
  struct Piece {
    uint64_t start_vaddr = 0;
    uint64_t end_vaddr = 0;
    int32_t line = 0;
    int32_t file = -1;
    int32_t inlined = -1;
  };
  void AddFunction(const object::GoFunction& function, dwarf::Unit& unit);
  void Cut(const object::GoFunction& function);
  void OpenScopes(const std::vector<object::GoCall>& calls, const Piece& piece, dwarf::Unit& unit);
  uint32_t FileId(const std::string& path, dwarf::Unit& unit);
  uint32_t FunctionId(const object::GoCall& call, dwarf::Unit& unit);

  object::GoPclntab& table_;
  uint32_t next_ = 0;
  uint64_t damaged_count_ = 0;
  std::deque<std::string> strings_;
  std::unordered_map<std::string_view, uint32_t> files_;
  std::unordered_map<std::string_view, uint32_t> functions_;
  std::vector<Piece> pieces_;
  std::vector<uint32_t> open_;  // scopes that hold the last piece, outermost first
};

}  // namespace vesta::symbolize
