// Rows of the unwind table (abi/unwind.h): made from rules of call frame information, written one
// after the other, and looked up again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "abi/unwind.h"
#include "src/object/eh_frame_program.h"
#include "src/object/unwind_table.h"

namespace vesta::object {

// A row without the bits of its address.
constexpr uint32_t RowBits(uint32_t kind, uint32_t operand) {
  return kind << ABI_ROW_KIND_SHIFT | operand << ABI_ROW_OPERAND_SHIFT;
}
constexpr uint32_t SpecialRowBits(uint32_t special) { return RowBits(ABI_ROW_SPECIAL, special); }

// Turns rules into rows. Those that do not fit go into the table's list of rules, each once.
// Cost: a few compares for what fits into a row; else a look-up among the image's few rules.
class RowEncoder {
 public:
  explicit RowEncoder(const FrameArchitecture& architecture) : architecture_(architecture) {}

  uint32_t Encode(const FrameRules& rules);
  const std::vector<abi_rule>& rules() const { return rules_; }

 private:
  uint32_t EncodeRule(const abi_rule& rule);

  using RuleKey =
      std::tuple<uint8_t, uint8_t, uint8_t, uint8_t, int32_t, int32_t, int16_t, int16_t>;
  FrameArchitecture architecture_;
  std::vector<abi_rule> rules_;
  std::map<RuleKey, uint32_t> number_of_rule_;
};

// Writes the words of a table front to back: where rows change, and ranges that take precedence
// over them. Neighbours that say the same become one row. Shape: SetRow() with ascending addresses
// inside [first_vaddr, end_vaddr]; a row holds until the
//        next one, and before the first one nothing is known.
// Cost:  no allocation within expected_row_count.
class RowWriter {
 public:
  // overrides: sorted, not empty, not overlapping, inside [first_vaddr, end_vaddr].
  RowWriter(uint64_t first_vaddr, uint64_t end_vaddr, size_t expected_row_count,
            std::vector<RowRange> overrides);

  void SetRow(uint64_t vaddr, uint32_t row_bits);

  // A point to come back to when what was written since proves wrong.
  struct Mark {
    size_t word_count = 0;
    size_t page_next = 0;  // first entry of the page index that is not yet known
    size_t override_next = 0;
    uint64_t unsupported_row_count = 0;
    uint64_t pending_vaddr = 0;
    uint32_t pending_bits = 0;
    uint32_t last_bits = 0;
    uint32_t base_bits = 0;  // what SetRow said last, hidden while an override lasts
    bool is_pending = false;
    bool is_overridden = false;
  };
  const Mark& mark() const { return at_; }
  void Rewind(const Mark& mark);

  uint64_t row_count() const { return at_.word_count - rows_word_; }
  uint64_t unsupported_row_count() const { return at_.unsupported_row_count; }

  // Completes the table with the list of rules; empty when it has no rows.
  std::vector<uint32_t> Finish(std::span<const abi_rule> rules);

 private:
  void ApplyOverridesUpTo(uint64_t vaddr);
  void Put(uint64_t vaddr, uint32_t row_bits);
  void Commit();

  uint64_t first_page_;
  size_t page_count_;
  size_t rows_word_;
  std::vector<RowRange> overrides_;
  std::vector<uint32_t> words_;
  Mark at_;
};

}  // namespace vesta::object
