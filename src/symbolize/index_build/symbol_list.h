// All functions that the symbol tables of an image and of its debug files name.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/symbolize/debug_file/debug_object.h"
#include "src/symbolize/index/index_writer.h"
#include "src/symbolize/symbol_table.h"

namespace vesta::symbolize {

// Which symbol names an address is as ResolveElfSymbols() says.
// Owner: one thread; the objects outlive the list.
// Cost:  40 bytes per symbol; their names stay where they lie.
class SymbolList {
 public:
  // Every .symtab and .dynsym of the object.
  void AddTables(const DebugObject& object);
  // Stubs of the procedure linkage table, as "name@plt".
  void AddStubs(const DebugObject& image);

  // Gives all to the writer. Ends the use of the list.
  void Give(IndexWriter& writer);

  uint64_t count() const { return symbols_.size(); }
  // Symbols without a name since all names together are too long.
  uint64_t cut_count() const { return cut_count_; }

 private:
  struct Symbol {
    CodeSymbol place;
    std::string_view name;
  };
  std::string_view NameOf(std::span<const std::byte> names, const CodeSymbol& symbol);

  std::vector<Symbol> symbols_;
  std::deque<std::string> stub_names_;
  uint64_t cut_count_ = 0;
  uint64_t name_bytes_left_ = uint64_t{64} << 20;
};

}  // namespace vesta::symbolize
