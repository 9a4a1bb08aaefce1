// An oracle for unwind tables: the rows of a file against its call frame information as elfutils
// reads it. Both are evaluated on made-up registers and memory, so that two ways to write the same
// rule are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/object/elf_file.h"

struct Elf;
struct Dwarf_Frame_s;

namespace vesta::test {

// Start addresses of all functions, from the table that linkers make for a binary search: a list
// that does not come from our own parser.
std::vector<uint64_t> FunctionStarts(const object::ElfFile& elf, const base::ByteSource& source);

// Every function (or every stride-th), every rule as elfutils has it: its first byte, its middle
// and its last byte.
using PlaceVisitor = std::function<void(Dwarf_Frame_s* frame, uint64_t pc)>;
void VisitRules(Elf* elf_of_oracle, const std::vector<uint64_t>& function_starts, size_t stride,
                const PlaceVisitor& visit);

// Counts of places, three for each rule: its first byte, its middle and its last byte.
struct TableComparison {
  uint64_t place_count = 0;
  uint64_t unsupported_count = 0;
  uint64_t difference_count = 0;
  uint64_t unanswered_count = 0;  // elfutils refuses the entry's instructions
  std::string first_difference;
  std::map<std::string, uint64_t> kinds;  // of differences
};

// Every function (or every stride-th), every rule.
TableComparison CompareTable(Elf* elf_of_oracle, const object::ElfFile& elf,
                             const base::ByteSource& source, std::span<const uint32_t> words,
                             size_t stride);

}  // namespace vesta::test
