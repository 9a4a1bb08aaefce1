// The code of an image that no call frame information and no other table covers, and the rules that
// it gives itself (code_frames.h).
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/byte_source.h"
#include "src/object/code_frames.h"
#include "src/object/elf_file.h"

namespace vesta::object {

struct CodeRange {
  uint64_t start_vaddr = 0;
  uint64_t end_vaddr = 0;
};

// Ranges that come one by one, in any order, kept as few: those that touch, or have only padding
// between them, are one.
class CodeCoverage {
 public:
  void Add(uint64_t start_vaddr, uint64_t end_vaddr);
  // Sorted and apart from each other. Owner: the coverage, until the next Add().
  const std::vector<CodeRange>& Ranges();
  // So scattered that it was not kept: nothing is known of what it leaves out.
  bool is_overfull() const { return is_overfull_; }

 private:
  void Merge();

  std::vector<CodeRange> ranges_;
  size_t merge_at_ = 4096;
  bool is_overfull_ = false;
};

struct UncoveredCode {
  CodeFrames frames;
  uint64_t scanned_bytes = 0;
  uint64_t left_out_bytes = 0;  // beyond the limit of 1 MiB
};

// Shape: for x86-64 only; nothing for others. The code at the entry point is nobody's callee and
//        gets no rule.
// Cost:  that of FindCodeFrames() for the code; where that is more than a few bytes, also a pass
//        over the symbol tables.
UncoveredCode FindUncoveredCode(const ElfFile& elf, const base::ByteSource& source,
                                CodeCoverage& covered);

}  // namespace vesta::object
