// Names the addresses of one image from a prepared file: the function, what was inlined there, and
// the lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/base/result.h"
#include "src/symbolize/index/index_format.h"

namespace vesta::symbolize {

// What an index knows of a function; views into its bytes.
struct IndexFunction {
  std::string_view name;          // as it is written, e.g. "push_back"; may be empty
  std::string_view linkage_name;  // mangled; empty where there is none
  std::string_view file;          // of its declaration; empty when not known
  uint32_t start_line = 0;        // 0 = not known

  // The one to demangle and to show; empty when the function has no name at all.
  std::string_view system_name() const { return linkage_name.empty() ? name : linkage_name; }
};

// Shape:  ids of functions and files hold within one index; 0 is what is not known.
// Units:  image addresses.
// Owner:  the caller keeps the bytes, unchanged, as long as this and every view it gave out. Const
//         and usable by any thread.
// Cost:   Open reads all bytes once, for the checksums. Find touches the page table, one page (some
//         80 bytes, at most 84 KB in a hostile file) and two records per call; no allocation.
// Errors: of Open: Corrupt when the bytes are no whole index, Unsupported when another version
//         wrote it, NotFound when it is the index of another image. What a hostile writer left
//         behind right checksums gives wrong names, at worst none.
class SymbolIndex {
 public:
  static base::Result<SymbolIndex> Open(IndexBytes bytes, std::string_view identity);

  struct Call {
    uint32_t function = 0;
    uint32_t file = 0;
    uint32_t line = 0;  // 0 = not known
  };
  // Fills `out` with the calls that stand at this address, innermost first: each later one is what
  // the one before was inlined into, with the place of that call. Gives their number, at most
  // out.size(); 0 when nothing is known. A lone call may have a line and no function.
  size_t Find(uint64_t address, std::span<Call> out) const;

  IndexFunction function(uint32_t id) const;
  std::string_view file(uint32_t id) const;
  uint32_t function_count() const;
  uint32_t file_count() const;

 private:
  struct Node {
    uint32_t function = 0;
    uint32_t parent = 0;
    uint32_t call_file = 0;
    bool call_file_said = false;
    uint32_t call_line_distance = 0;
  };
  struct PagePlace {
    uint32_t node = 0;
    uint32_t file = 0;
    bool file_said = false;
    uint32_t line_distance = 0;
  };

  SymbolIndex() = default;
  PagePlace PlaceAt(uint32_t offset) const;
  Node NodeAt(uint32_t id) const;
  FunctionRecord Record(uint32_t id) const;
  std::string_view String(uint32_t id) const;

  uint64_t base_ = 0;
  uint64_t span_bytes_ = 0;
  uint32_t page_shift_ = 0;
  IndexBytes pages_;
  IndexBytes places_;
  IndexBytes nodes_;
  IndexBytes functions_;
  IndexBytes files_;
  IndexBytes strings_;
};

}  // namespace vesta::symbolize
