// What a raw frame is called. One address can stand for several functions: the one that the
// compiler placed there and those it was inlined into.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vesta::symbolize {

struct FunctionLine {
  std::string name;         // for people: demangled
  std::string system_name;  // as the file has it
  std::string file;         // empty when unknown
  uint32_t line = 0;        // 0 = unknown
  uint32_t start_line = 0;  // of the function; 0 = unknown
};

struct Symbol {
  std::vector<FunctionLine> lines;  // innermost inlined function first; empty = no name found
};

}  // namespace vesta::symbolize
