// A made-up process of one image and a stack of words, for tests of the walker's steps.
#pragma once

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "src/agent/unwind/host_walk.h"

namespace vesta::agent::unwind {

inline constexpr uint64_t kStack = 0x7fff0000;
inline constexpr uint64_t kBias = 0x550000000000;
inline constexpr uint32_t kImage = 5;

inline uint32_t Row(uint32_t in_page, abi_row_kind kind, uint32_t operand) {
  return in_page | static_cast<uint32_t>(kind) << ABI_ROW_KIND_SHIFT |
         operand << ABI_ROW_OPERAND_SHIFT;
}
// A process with one image of one or more pages, and a stack of words.
template <int kArchitecture>
class WalkMachine {
 public:
  using Walker = BasicHostWalk<kArchitecture>;

  // Rows are (image address, row); sorted by address.
  void SetRows(const std::vector<std::pair<uint64_t, uint32_t>>& rows,
               const std::vector<abi_rule>& rules = {}) {
    const auto first_page = static_cast<uint32_t>(rows.front().first >> 12);
    const auto page_count = static_cast<uint32_t>(rows.back().first >> 12) - first_page + 1;
    std::vector<uint32_t> words(8);
    for (uint32_t page = 0; page <= page_count; ++page) {
      uint32_t count = 0;
      for (const auto& [address, row] : rows) count += (address >> 12) < first_page + page ? 1 : 0;
      words.push_back(count);
    }
    const auto rows_word = static_cast<uint32_t>(words.size());
    for (const auto& [address, row] : rows) {
      words.push_back(row | static_cast<uint32_t>(address & 0xfff));
    }
    const auto rules_word = static_cast<uint32_t>(words.size());
    for (const abi_rule& rule : rules) {
      uint32_t rule_words[ABI_RULE_WORDS];
      std::memcpy(rule_words, &rule, sizeof(rule));
      words.insert(words.end(), rule_words, rule_words + ABI_RULE_WORDS);
    }
    words[0] = ABI_TABLE_MAGIC;
    words[1] = first_page;
    words[2] = page_count;
    words[3] = 8;
    words[4] = rows_word;
    words[5] = static_cast<uint32_t>(rows.size());
    words[6] = rules_word;
    words[7] = static_cast<uint32_t>(rules.size());
    words.resize((words.size() + ABI_TABLE_BLOCK_WORDS - 1) / ABI_TABLE_BLOCK_WORDS *
                 ABI_TABLE_BLOCK_WORDS);
    tables_[kImage] = words;
    mappings_ = {{kBias, kBias + 0x10000, kBias, kImage, kImage}};
  }
  void SetWord(uint64_t address, uint64_t value) { stack_.at((address - kStack) / 8) = value; }

  struct Walked {
    std::vector<abi_frame> frames;
    int reason = 0;
    uint32_t interrupted_frame = 0;
  };
  // Registers: pc as image address, unless absolute.
  Walked Walk(uint64_t pc, uint64_t sp, uint64_t fp, bool knows_all_mappings = false) {
    Walker walk(std::as_bytes(std::span(stack_)), kStack, mappings_,
                [this](uint32_t slot) -> std::span<const uint32_t> {
                  const auto table = tables_.find(slot);
                  if (table == tables_.end()) return {};
                  return table->second;
                });
    typename Walker::walk_state state{};
    state.registers = registers_;
    state.registers.value[Walker::WALK_REG_PC] = pc;
    state.registers.value[Walker::WALK_REG_SP] = sp;
    state.registers.value[Walker::WALK_REG_FP] = fp;
    walk.walk_start(&state, 0, static_cast<uint32_t>(mappings_.size()));
    state.knows_all_mappings = knows_all_mappings ? 1 : 0;
    Walked walked;
    walked.reason = WALK_CONTINUE;
    while (walked.reason == WALK_CONTINUE && walked.frames.size() < 100) {
      abi_frame frame{};
      walked.reason = walk.walk_step(&state, &frame);
      walked.frames.push_back(frame);
    }
    walked.interrupted_frame = state.interrupted_frame;
    return walked;
  }

  typename Walker::walk_registers registers_{};
  std::vector<abi_mapping> mappings_;
  std::map<uint32_t, std::vector<uint32_t>> tables_;
  std::vector<uint64_t> stack_ = std::vector<uint64_t>(128, 0);
};

}  // namespace vesta::agent::unwind
