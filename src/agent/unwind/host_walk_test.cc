// The walker's steps over hand-made tables and stacks. The same text runs in the kernel.
#include "src/agent/unwind/host_walk.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace vesta::agent::unwind {
namespace {

constexpr uint64_t kStack = 0x7fff0000;
constexpr uint64_t kBias = 0x550000000000;
constexpr uint32_t kImage = 5;

uint32_t Row(uint32_t in_page, abi_row_kind kind, uint32_t operand) {
  return in_page | static_cast<uint32_t>(kind) << ABI_ROW_KIND_SHIFT |
         operand << ABI_ROW_OPERAND_SHIFT;
}
uint32_t Near(uint32_t cfa_words, uint32_t fp_words) {
  return cfa_words | fp_words << ABI_OPERAND_CFA_BITS;
}

// A process with one image of one or more pages, and a stack of words.
class Machine {
 public:
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
    HostWalk walk(std::as_bytes(std::span(stack_)), kStack, mappings_,
                  [this](uint32_t slot) -> std::span<const uint32_t> {
                    const auto table = tables_.find(slot);
                    if (table == tables_.end()) return {};
                    return table->second;
                  });
    HostWalk::walk_state state{};
    state.registers = registers_;
    state.registers.value[16] = pc;
    state.registers.value[7] = sp;
    state.registers.value[6] = fp;
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

  HostWalk::walk_registers registers_{};
  std::vector<abi_mapping> mappings_;
  std::map<uint32_t, std::vector<uint32_t>> tables_;
  std::vector<uint64_t> stack_ = std::vector<uint64_t>(128, 0);
};

const uint32_t kRoot = Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_ROOT);
const uint32_t kNone = Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_NONE);

TEST(HostWalkTest, StackPointerRulesToTheRoot) {
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(1, 0))},
                   {0x1100, Row(0, ABI_ROW_SP, Near(3, 0))},
                   {0x1200, kRoot}});
  machine.SetWord(kStack, kBias + 0x1150);       // caller of 0x1050
  machine.SetWord(kStack + 24, kBias + 0x1210);  // caller of 0x1150
  const auto walked = machine.Walk(kBias + 0x1050, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walked.frames.size(), 3u);
  EXPECT_EQ(walked.frames[0].address, 0x1050u) << "interrupted: exact";
  EXPECT_EQ(walked.frames[0].flags, ABI_FRAME_INTERRUPTED);
  EXPECT_EQ(walked.frames[1].address, 0x114fu) << "return address - 1, once";
  EXPECT_EQ(walked.frames[1].flags, 0);
  EXPECT_EQ(walked.frames[2].address, 0x120fu);
  EXPECT_EQ(walked.frames[2].image_id, kImage);
}

TEST(HostWalkTest, CallAtTheEndOfAFunctionBelongsToIt) {
  // A call to a function that does not return may be the last instruction: the return address is
  // then the first byte of the next function.
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(1, 0))},
                   {0x1100, Row(0, ABI_ROW_SP, Near(2, 0))},
                   {0x1200, kNone},
                   {0x1300, kRoot}});
  machine.SetWord(kStack, kBias + 0x1200);
  machine.SetWord(kStack + 16, kBias + 0x1301);
  const auto walked = machine.Walk(kBias + 0x1000, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  EXPECT_EQ(walked.frames[1].address, 0x11ffu);
}

TEST(HostWalkTest, FramePointerRuleRestoresTheCallersFramePointer) {
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_FP, Near(2, 2))},
                   {0x1100, Row(0, ABI_ROW_FP, Near(2, 2))},
                   {0x1200, kRoot}});
  const uint64_t inner = kStack + 0x20;
  const uint64_t outer = kStack + 0x60;
  machine.SetWord(inner, outer);
  machine.SetWord(inner + 8, kBias + 0x1110);
  machine.SetWord(outer, 0);
  machine.SetWord(outer + 8, kBias + 0x1210);
  const auto walked = machine.Walk(kBias + 0x1010, kStack, inner);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walked.frames.size(), 3u);
  EXPECT_EQ(walked.frames[2].address, 0x120fu);
}

TEST(HostWalkTest, FramePointerSavedElsewhereIsFound) {
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(6, 4))},  // saved at CFA - 32
                   {0x1100, Row(0, ABI_ROW_FP, Near(2, 2))},
                   {0x1200, kRoot}});
  const uint64_t cfa = kStack + 48;
  const uint64_t outer = kStack + 0x80;
  machine.SetWord(cfa - 8, kBias + 0x1110);
  machine.SetWord(cfa - 32, outer);
  machine.SetWord(outer + 8, kBias + 0x1210);
  const auto walked = machine.Walk(kBias + 0x1010, kStack, 1234567);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  EXPECT_EQ(walked.frames.size(), 3u);
}

TEST(HostWalkTest, RowsOfEarlierPagesHoldOnIntoEmptyPages) {
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(1, 0))}, {0x5000, kRoot}});
  machine.SetWord(kStack, kBias + 0x5010);
  const auto walked = machine.Walk(kBias + 0x3456, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  EXPECT_EQ(walked.frames.size(), 2u);
}

TEST(HostWalkTest, PltStubDependsOnTheByteInside) {
  const uint32_t plt = Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_PLT | 11u << ABI_SPECIAL_PLT_SHIFT);
  for (const uint64_t in_stub : {0u, 6u, 10u, 11u, 15u}) {
    Machine machine;
    machine.SetRows({{0x1000, plt}, {0x1100, kRoot}});
    machine.SetWord(kStack + (in_stub >= 11 ? 8 : 0), kBias + 0x1110);
    const auto walked = machine.Walk(kBias + 0x1020 + in_stub, kStack, 0);
    EXPECT_EQ(walked.reason, ABI_STOP_ROOT) << in_stub;
    EXPECT_EQ(walked.frames.size(), 2u) << in_stub;
  }
}

TEST(HostWalkTest, SignalFrameRestoresEverythingAndIsExact) {
  Machine machine;
  abi_rule by_rbx{};
  by_rbx.cfa_register = 3;  // rbx: known only in an interrupted frame
  by_rbx.cfa_offset = 8;
  by_rbx.ra_offset = -8;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(1, 0))},
                   {0x10ff, Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_SIGNAL)},
                   {0x1109, kNone},
                   {0x1200, Row(0, ABI_ROW_RULE, 0)},
                   {0x1300, kRoot}},
                  {by_rbx});
  machine.SetWord(kStack, kBias + 0x1100);  // the handler returns to the trampoline
  const uint64_t registers = kStack + 8 + 40;
  const uint64_t interrupted_sp = kStack + 0x200;
  machine.SetWord(registers + 11 * 8, interrupted_sp);  // rbx
  machine.SetWord(registers + 15 * 8, interrupted_sp);  // rsp
  machine.SetWord(registers + 16 * 8, kBias + 0x1200);  // rip: first byte of a function
  machine.SetWord(interrupted_sp, kBias + 0x1310);
  const auto walked = machine.Walk(kBias + 0x1010, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walked.frames.size(), 4u);
  EXPECT_EQ(walked.frames[1].address, 0x1100u) << "the trampoline itself, not the byte before";
  EXPECT_EQ(walked.frames[2].address, 0x1200u) << "interrupted: exact";
  EXPECT_EQ(walked.frames[2].flags, ABI_FRAME_INTERRUPTED);
  EXPECT_EQ(walked.interrupted_frame, 2u) << "all registers are known there, too";
}

TEST(HostWalkTest, RulesThatDoNotFitARow) {
  Machine machine;
  abi_rule deref{};  // stack realignment: CFA = *(fp - 8) + 0, fp saved at *fp
  deref.cfa_kind = ABI_CFA_DEREF;
  deref.cfa_register = 6;
  deref.cfa_offset = -8;
  deref.fp_kind = ABI_FP_AT_FP;
  deref.ra_offset = -8;
  abi_rule in_register{};  // glibc's vfork: return address in rdi
  in_register.cfa_register = 7;
  in_register.cfa_offset = 0;
  in_register.ra_kind = ABI_RA_REGISTER;
  in_register.ra_offset = 5;
  machine.SetRows(
      {{0x1000, Row(0, ABI_ROW_RULE, 0)}, {0x1100, Row(0, ABI_ROW_RULE, 1)}, {0x1200, kRoot}},
      {deref, in_register});
  const uint64_t fp = kStack + 0x40;
  const uint64_t cfa = kStack + 0x80;
  machine.SetWord(fp - 8, cfa);
  machine.SetWord(fp, 0);
  machine.SetWord(cfa - 8, kBias + 0x1210);
  EXPECT_EQ(machine.Walk(kBias + 0x1010, kStack, fp).reason, ABI_STOP_ROOT);

  machine.registers_.value[5] = kBias + 0x1210;
  const auto walked = machine.Walk(kBias + 0x1110, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  EXPECT_EQ(walked.frames.size(), 2u);
}

TEST(HostWalkTest, RegistersOfOuterFramesAreUnknown) {
  Machine machine;
  abi_rule by_rbx{};
  by_rbx.cfa_register = 3;
  by_rbx.cfa_offset = 8;
  by_rbx.ra_offset = -8;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(1, 0))}, {0x1100, Row(0, ABI_ROW_RULE, 0)}},
                  {by_rbx});
  machine.SetWord(kStack, kBias + 0x1110);
  EXPECT_EQ(machine.Walk(kBias + 0x1010, kStack, 0).reason, ABI_STOP_RULE_UNSUPPORTED);
}

struct StopCase {
  const char* name;
  uint32_t row;
  uint64_t fp;
  int reason;
};

TEST(HostWalkTest, EveryWayToGiveUpHasItsReason) {
  const StopCase cases[] = {
      {"CFA below sp", Row(0, ABI_ROW_FP, Near(0, 0)), kStack - 0x100, ABI_STOP_SP_NOT_GROWING},
      {"CFA outside of the stack", Row(0, ABI_ROW_FP, Near(2, 2)), kStack + 0x100000,
       ABI_STOP_READ_FAULT},
      {"gap, fp zero", kNone, 0, ABI_STOP_ROOT_FRAME_POINTER},
      {"gap, fp unreadable", kNone, kStack + 0x100000, ABI_STOP_NO_RULE},
      {"gap, fp odd", kNone, kStack + 0x11, ABI_STOP_NO_RULE},
      {"gap, fp below sp", kNone, kStack - 8, ABI_STOP_NO_RULE},
      {"unsupported", Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_UNSUPPORTED), kStack,
       ABI_STOP_RULE_UNSUPPORTED},
      {"rule outside of the table", Row(0, ABI_ROW_RULE, 200000), kStack, ABI_STOP_INTERNAL},
      {"return address zero", Row(0, ABI_ROW_SP, Near(9, 0)), 0, ABI_STOP_ROOT},
  };
  for (const StopCase& stop : cases) {
    Machine machine;
    machine.SetRows({{0x1000, stop.row}});
    const auto walked = machine.Walk(kBias + 0x1010, kStack, stop.fp);
    EXPECT_EQ(walked.reason, stop.reason) << stop.name;
    EXPECT_EQ(walked.frames.size(), 1u) << stop.name;
  }
}

TEST(HostWalkTest, MissingTableStopsButAnImageWithoutTableIsGuessed) {
  Machine machine;
  machine.SetRows({{0x1000, kRoot}});
  machine.mappings_.insert(machine.mappings_.begin(),
                           {0x10000, 0x20000, 0x10000, 9, 9});  // slot 9 is not loaded
  EXPECT_EQ(machine.Walk(0x10010, kStack, kStack + 0x20).reason, ABI_STOP_NO_TABLE);
  machine.mappings_[0].table_slot = ABI_TABLE_SLOT_NONE;
  machine.SetWord(kStack + 0x28, kBias + 0x1010);
  EXPECT_EQ(machine.Walk(0x10010, kStack, kStack + 0x20).reason, ABI_STOP_ROOT);
}

TEST(HostWalkTest, UnmappedCodeIsCrossedOnlyOnceAndOnlyWhenNothingMoreCanBeLearnt) {
  Machine machine;
  machine.SetRows({{0x1000, kRoot}});
  machine.SetWord(kStack + 0x28, kBias + 0x1010);
  const uint64_t unmapped = 0x400000;
  EXPECT_EQ(machine.Walk(unmapped, kStack, kStack + 0x20).reason, ABI_STOP_NO_MAPPING);
  const auto crossed = machine.Walk(unmapped, kStack, kStack + 0x20, true);
  EXPECT_EQ(crossed.reason, ABI_STOP_ROOT);
  EXPECT_EQ(crossed.frames[0].kind, ABI_FRAME_PROCESS);
  machine.SetWord(kStack + 0x20, kStack + 0x40);
  machine.SetWord(kStack + 0x28, unmapped);
  EXPECT_EQ(machine.Walk(unmapped, kStack, kStack + 0x20, true).reason, ABI_STOP_NO_MAPPING);
}

TEST(HostWalkTest, FindsTheMappingAmongMany) {
  Machine machine;
  machine.SetRows({{0x1000, kRoot}});
  for (uint64_t i = 0; i < 1000; ++i) {
    machine.mappings_.push_back({kBias + 0x100000 + i * 0x3000, kBias + 0x102000 + i * 0x3000, 0,
                                 100, ABI_TABLE_SLOT_NONE});
  }
  EXPECT_EQ(machine.Walk(kBias + 0x1010, kStack, 0).reason, ABI_STOP_ROOT);
  const auto last = machine.Walk(kBias + 0x100000 + 999 * 0x3000 + 0x1fff, kStack, 0);
  EXPECT_EQ(last.frames[0].image_id, 100u);
  const auto hole = machine.Walk(kBias + 0x100000 + 500 * 0x3000 + 0x2000, kStack, 0);
  EXPECT_EQ(hole.reason, ABI_STOP_NO_MAPPING);
}

}  // namespace
}  // namespace vesta::agent::unwind
