// The walker's steps over hand-made tables and stacks. The same text runs in the kernel.
#include "src/agent/unwind/host_walk.h"

#include <gtest/gtest.h>

#include "src/agent/unwind/walk_machine_for_test.h"

namespace vesta::agent::unwind {
namespace {

using Machine = WalkMachine<ABI_X86_64>;

uint32_t Near(uint32_t cfa_words, uint32_t fp_words) {
  return cfa_words | fp_words << ABI_OPERAND_CFA_BITS;
}

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
      {"gap, fp zero", kNone, 0, ABI_STOP_NO_RULE},
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

TEST(HostWalkTest, AGuessThatLeadsOutOfAllMappingsIsMarked) {
  Machine machine;
  machine.SetRows({{0x1000, kNone}, {0x1100, Row(0, ABI_ROW_SP, Near(1, 0))}, {0x1200, kRoot}});
  machine.SetWord(kStack + 0x20, kStack + 0x40);
  machine.SetWord(kStack + 0x28, 0x400000);
  const auto guessed = machine.Walk(kBias + 0x1010, kStack, kStack + 0x20);
  ASSERT_EQ(guessed.frames.size(), 2u);
  EXPECT_EQ(guessed.reason, ABI_STOP_NO_MAPPING);
  EXPECT_EQ(guessed.frames[1].flags, ABI_FRAME_GUESSED);
  machine.SetWord(kStack, 0x400000);
  const auto by_rule = machine.Walk(kBias + 0x1110, kStack, kStack + 0x20);
  EXPECT_EQ(by_rule.reason, ABI_STOP_NO_MAPPING);
  EXPECT_EQ(by_rule.frames.back().flags, 0);
  machine.SetWord(kStack + 0x28, kBias + 0x1210);
  EXPECT_EQ(machine.Walk(kBias + 0x1010, kStack, kStack + 0x20).frames[1].flags, 0);
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
