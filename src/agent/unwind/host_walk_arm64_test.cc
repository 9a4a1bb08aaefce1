// The walker's steps as arm64 takes them, over hand-made tables and stacks.
#include <gtest/gtest.h>

#include "src/agent/unwind/walk_machine_for_test.h"

namespace vesta::agent::unwind {
namespace {

using Machine = WalkMachine<ABI_ARM64>;

constexpr size_t kLink = 30;
constexpr uint64_t kSignature = 0x002a000000000000;  // as pointer authentication puts it

// The CFA and the pair {fp, lr} from it, in bytes; 0 = both in registers.
uint32_t Near(uint32_t cfa_bytes, uint32_t pair_bytes) {
  return cfa_bytes / 16 | pair_bytes / 16 << ABI_ARM64_OPERAND_CFA_BITS;
}
const uint32_t kRoot = Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_ROOT);
const uint32_t kNone = Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_NONE);
const uint32_t kLeaf = Row(0, ABI_ROW_SP, Near(0, 0));

void SetPair(Machine& machine, uint64_t address, uint64_t fp, uint64_t return_address) {
  machine.SetWord(address, fp);
  machine.SetWord(address + 8, return_address);
}

TEST(HostWalkArm64Test, LeafReturnsByTheLinkRegister) {
  Machine machine;
  machine.SetRows({{0x1000, kLeaf}, {0x1100, Row(0, ABI_ROW_SP, Near(32, 32))}, {0x1200, kRoot}});
  machine.registers_.value[kLink] = kBias + 0x1150;
  SetPair(machine, kStack, 0, kBias + 0x1210);
  const auto walked = machine.Walk(kBias + 0x1050, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walked.frames.size(), 3u);
  EXPECT_EQ(walked.frames[0].address, 0x1050u);
  EXPECT_EQ(walked.frames[1].address, 0x114fu);
  EXPECT_EQ(walked.frames[2].address, 0x120fu);
}

TEST(HostWalkArm64Test, LeafThatHasMovedItsStackPointer) {
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(48, 0))},
                   {0x1100, Row(0, ABI_ROW_SP, Near(16, 16))},
                   {0x1200, kRoot}});
  machine.registers_.value[kLink] = kBias + 0x1150;
  SetPair(machine, kStack + 48, 0, kBias + 0x1210);
  const auto walked = machine.Walk(kBias + 0x1050, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  EXPECT_EQ(walked.frames.size(), 3u);
}

// gcc puts the pair at the bottom of the frame, clang at the top and counts from the frame pointer.
TEST(HostWalkArm64Test, FramesOfBothCompilers) {
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(96, 96))},
                   {0x1100, Row(0, ABI_ROW_FP, Near(16, 16))},
                   {0x1200, Row(0, ABI_ROW_SP, Near(64, 32))},
                   {0x1300, kRoot}});
  const uint64_t second = kStack + 96 + 80;  // its pair lies above its locals
  SetPair(machine, kStack, second, kBias + 0x1110);
  SetPair(machine, second, 0, kBias + 0x1210);
  SetPair(machine, second + 16 + 32, 0, kBias + 0x1310);
  const auto walked = machine.Walk(kBias + 0x1010, kStack, kStack);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walked.frames.size(), 4u);
  EXPECT_EQ(walked.frames[3].address, 0x130fu);
}

TEST(HostWalkArm64Test, SignedReturnAddressesAreStripped) {
  Machine machine;
  machine.SetRows({{0x1000, kLeaf}, {0x1100, Row(0, ABI_ROW_SP, Near(16, 16))}, {0x1200, kNone}});
  machine.registers_.value[kLink] = kSignature | (kBias + 0x1150);
  SetPair(machine, kStack, kStack + 0x40, kSignature | (kBias + 0x1210));
  SetPair(machine, kStack + 0x40, 0, kSignature);  // nothing but a signature: no caller
  const auto walked = machine.Walk(kBias + 0x1050, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walked.frames.size(), 3u);
  EXPECT_EQ(walked.frames[1].address, 0x114fu);
  EXPECT_EQ(walked.frames[2].address, 0x120fu);
}

TEST(HostWalkArm64Test, OnlyAnInterruptedFrameHasALinkRegister) {
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(16, 16))}, {0x1100, kLeaf}});
  machine.registers_.value[kLink] = kBias + 0x1150;
  SetPair(machine, kStack, 0, kBias + 0x1110);
  const auto walked = machine.Walk(kBias + 0x1010, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_RULE_UNSUPPORTED);
  EXPECT_EQ(walked.frames.size(), 2u);
}

TEST(HostWalkArm64Test, SignalFrameRestoresEverythingAndIsExact) {
  Machine machine;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_SP, Near(16, 16))},
                   {0x10ff, Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_SIGNAL)},
                   {0x1108, kNone},
                   {0x1200, kLeaf},
                   {0x1300, Row(0, ABI_ROW_SP, Near(16, 16))},
                   {0x1400, kRoot}});
  SetPair(machine, kStack, 0, kBias + 0x1100);  // the handler returns to the trampoline
  // struct rt_sigframe: siginfo 128, in the ucontext at 176 fault_address and then the registers.
  const uint64_t registers = kStack + 16 + 128 + 176 + 8;
  machine.stack_.resize(1024);
  const uint64_t interrupted_sp = kStack + 0x1000;
  machine.SetWord(registers + 30 * 8, kBias + 0x1310);
  machine.SetWord(registers + 31 * 8, interrupted_sp);
  machine.SetWord(registers + 32 * 8, kBias + 0x1200);  // first byte of a function
  SetPair(machine, interrupted_sp, 0, kBias + 0x1410);
  const auto walked = machine.Walk(kBias + 0x1010, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walked.frames.size(), 5u);
  EXPECT_EQ(walked.frames[1].address, 0x1100u) << "the trampoline itself, not the byte before";
  EXPECT_EQ(walked.frames[2].address, 0x1200u) << "interrupted: exact";
  EXPECT_EQ(walked.frames[2].flags, ABI_FRAME_INTERRUPTED);
  EXPECT_EQ(walked.frames[3].address, 0x130fu) << "by the link register that the signal saved";
}

// The frame pointer leads to the caller's pair, but not to its stack pointer: rules that count from
// there are read from the pair upwards.
TEST(HostWalkArm64Test, AfterAFramePointerTheStackPointerIsNotTrusted) {
  Machine machine;
  abi_rule large{};  // CFA = sp + 0x80, {fp, lr} at CFA - 0x60
  large.cfa_register = 31;
  large.cfa_offset = 0x80;
  large.fp_kind = ABI_FP_AT_CFA;
  large.fp_offset = -0x60;
  large.ra_offset = -0x58;
  machine.SetRows({{0x1000, kNone},
                   {0x1100, Row(0, ABI_ROW_SP, Near(0x90, 0x70))},
                   {0x1200, kNone},
                   {0x1300, Row(0, ABI_ROW_RULE, 0)},
                   {0x1400, Row(0, ABI_ROW_SP, Near(32, 32))},
                   {0x1500, kRoot}},
                  {large});
  const uint64_t pairs[] = {kStack + 0x30, kStack + 0xa0, kStack + 0xa0 + 0x70,
                            kStack + 0xa0 + 0x90};
  SetPair(machine, pairs[0], pairs[1], kBias + 0x1110);
  SetPair(machine, pairs[1], pairs[2], kBias + 0x1210);
  SetPair(machine, pairs[2], pairs[3], kBias + 0x1310);
  SetPair(machine, pairs[3], 0, kBias + 0x1410);
  SetPair(machine, pairs[3] + 0x60, 0, kBias + 0x1510);
  const auto walked = machine.Walk(kBias + 0x1010, kStack, pairs[0]);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walked.frames.size(), 6u);
  EXPECT_EQ(walked.frames[2].address, 0x120fu);
  EXPECT_EQ(walked.frames[4].address, 0x140fu);
}

TEST(HostWalkArm64Test, AfterAFramePointerNoGuessOnARuleWithoutThePair) {
  abi_rule link_alone{};  // CFA = sp + 16, lr at CFA - 16
  link_alone.cfa_register = 31;
  link_alone.cfa_offset = 16;
  link_alone.ra_offset = -16;
  for (const uint32_t row :
       {Row(0, ABI_ROW_RULE, 0), kLeaf, Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_SIGNAL)}) {
    Machine machine;
    machine.SetRows({{0x1000, kNone}, {0x1100, row}}, {link_alone});
    SetPair(machine, kStack + 0x30, kStack + 0x60, kBias + 0x1110);
    machine.stack_.resize(1024);
    EXPECT_EQ(machine.Walk(kBias + 0x1010, kStack, kStack + 0x30).reason,
              ABI_STOP_RULE_UNSUPPORTED);
  }
}

TEST(HostWalkArm64Test, RulesThatDoNotFitARow) {
  Machine machine;
  abi_rule link_alone{};  // str x30, [sp, #-16]!
  link_alone.cfa_register = 31;
  link_alone.cfa_offset = 16;
  link_alone.ra_offset = -16;
  abi_rule huge{};  // a frame of 64 KiB
  huge.cfa_register = 31;
  huge.cfa_offset = 0x10000;
  huge.fp_kind = ABI_FP_AT_CFA;
  huge.fp_offset = -0x10000;
  huge.ra_kind = ABI_RA_AFTER_FP;
  abi_rule in_register{};  // return address kept in x15
  in_register.cfa_register = 31;
  in_register.ra_kind = ABI_RA_REGISTER;
  in_register.ra_offset = 15;
  machine.SetRows({{0x1000, Row(0, ABI_ROW_RULE, 2)},
                   {0x1100, Row(0, ABI_ROW_RULE, 0)},
                   {0x1200, Row(0, ABI_ROW_RULE, 1)},
                   {0x1300, Row(0, ABI_ROW_SP, Near(16, 16))},
                   {0x1400, kRoot}},
                  {link_alone, huge, in_register});
  machine.stack_.resize(0x3000);
  machine.registers_.value[15] = kBias + 0x1110;
  machine.SetWord(kStack, kBias + 0x1210);
  SetPair(machine, kStack + 16, 0, kBias + 0x1310);
  SetPair(machine, kStack + 16 + 0x10000, 0, kBias + 0x1410);
  const auto walked = machine.Walk(kBias + 0x1010, kStack, 0);
  EXPECT_EQ(walked.reason, ABI_STOP_ROOT);
  EXPECT_EQ(walked.frames.size(), 5u);
}

TEST(HostWalkArm64Test, EveryWayToGiveUpHasItsReason) {
  const struct {
    const char* name;
    uint32_t row;
    uint64_t fp;
    int reason;
  } cases[] = {
      {"CFA below sp", Row(0, ABI_ROW_FP, Near(0, 16)), kStack - 0x100, ABI_STOP_SP_NOT_GROWING},
      {"leaf whose CFA lies below sp", Row(0, ABI_ROW_FP, Near(0, 0)), kStack - 0x100,
       ABI_STOP_SP_NOT_GROWING},
      {"pair outside of the stack", Row(0, ABI_ROW_FP, Near(16, 16)), kStack + 0x100000,
       ABI_STOP_READ_FAULT},
      {"gap, fp zero", kNone, 0, ABI_STOP_NO_RULE},
      {"gap, fp below sp", kNone, kStack - 16, ABI_STOP_NO_RULE},
      {"link register zero", kLeaf, 0, ABI_STOP_ROOT},
      {"registers of a signal outside of the stack", Row(0, ABI_ROW_SPECIAL, ABI_SPECIAL_SIGNAL), 0,
       ABI_STOP_READ_FAULT},
  };
  for (const auto& c : cases) {
    Machine machine;
    machine.stack_.resize(32);
    machine.SetRows({{0x1000, c.row}});
    const auto walked = machine.Walk(kBias + 0x1010, kStack, c.fp);
    EXPECT_EQ(walked.reason, c.reason) << c.name;
    EXPECT_EQ(walked.frames.size(), 1u) << c.name;
  }
}

}  // namespace
}  // namespace vesta::agent::unwind
