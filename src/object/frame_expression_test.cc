#include "src/object/frame_expression.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace vesta::object {
namespace {

// Register n is 0x1000 * n, but 9 is not known; memory at an address is the address inverted, but
// below 0x100 it cannot be read.
class TestView final : public FrameView {
 public:
  std::optional<uint64_t> Register(uint64_t column) const override {
    if (column == 9) return std::nullopt;
    return 0x1000 * column;
  }
  std::optional<uint64_t> Memory(uint64_t address, uint8_t size_bytes) const override {
    if (address < 0x100) return std::nullopt;
    return size_bytes == 8 ? ~address : ~address & ((uint64_t{1} << 8 * size_bytes) - 1);
  }
};

FrameValue Evaluate(const std::vector<uint8_t>& bytes,
                    std::optional<uint64_t> frame_address = std::nullopt) {
  return EvaluateFrameExpression(std::as_bytes(std::span(bytes)), TestView(), frame_address);
}

constexpr uint64_t kMinus1 = ~uint64_t{0};
// Operations that occur in many lines.
constexpr uint8_t kLit0 = 0x30;
constexpr uint8_t kConst8u = 0x0e;
constexpr uint8_t kConst1s = 0x09;

struct Case {
  const char* name;
  std::vector<uint8_t> bytes;
  uint64_t value;
};

std::vector<uint8_t> Lits(uint8_t left, uint8_t right, uint8_t operation) {
  return {static_cast<uint8_t>(kLit0 + left), static_cast<uint8_t>(kLit0 + right), operation};
}
// Signed bytes, so that negative numbers are tried.
std::vector<uint8_t> Signeds(int left, int right, uint8_t operation) {
  return {kConst1s, static_cast<uint8_t>(left), kConst1s, static_cast<uint8_t>(right), operation};
}

TEST(FrameExpressionTest, EveryOperationGivesWhatDwarfSays) {
  const std::vector<Case> cases = {
      {"lit31", {0x4f}, 31},
      {"const1u", {0x08, 0xff}, 0xff},
      {"const1s", {0x09, 0xff}, kMinus1},
      {"const2u", {0x0a, 0xfe, 0xff}, 0xfffe},
      {"const2s", {0x0b, 0xff, 0xff}, kMinus1},
      {"const4u", {0x0c, 0xff, 0xff, 0xff, 0xff}, 0xffffffff},
      {"const4s", {0x0d, 0xff, 0xff, 0xff, 0xff}, kMinus1},
      {"const8u", {kConst8u, 8, 7, 6, 5, 4, 3, 2, 1}, 0x0102030405060708},
      {"const8s", {0x0f, 8, 7, 6, 5, 4, 3, 2, 1}, 0x0102030405060708},
      {"constu", {0x10, 0x80, 0x01}, 128},
      {"consts", {0x11, 0x7f}, kMinus1},
      {"dup", {0x35, 0x12, 0x22}, 10},
      {"drop", {0x35, 0x36, 0x13}, 5},
      {"over", {0x35, 0x36, 0x14}, 5},
      {"pick", {0x35, 0x36, 0x37, 0x15, 2}, 5},
      {"swap", {0x35, 0x36, 0x16}, 5},
      {"rot puts the top third", {0x31, 0x32, 0x33, 0x17, 0x13, 0x13}, 3},
      {"rot brings the second to the top", {0x31, 0x32, 0x33, 0x17}, 2},
      {"abs of a negative", {kConst1s, 0xfb, 0x19}, 5},
      {"abs", {0x35, 0x19}, 5},
      {"and", Lits(12, 10, 0x1a), 8},
      {"div is signed", Signeds(-7, 2, 0x1b), static_cast<uint64_t>(int64_t{-3})},
      {"minus", Lits(3, 5, 0x1c), static_cast<uint64_t>(int64_t{-2})},
      {"mod is unsigned", Signeds(-1, 16, 0x1d), 15},
      {"mul", Lits(6, 7, 0x1e), 42},
      {"neg", {0x31, 0x1f}, kMinus1},
      {"not", {0x30, 0x20}, kMinus1},
      {"or", Lits(12, 10, 0x21), 14},
      {"plus", Lits(12, 10, 0x22), 22},
      {"plus_uconst", {0x31, 0x23, 0xff, 0x01}, 256},
      {"shl", Lits(1, 4, 0x24), 16},
      {"shl of everything", {0x31, 0x08, 64, 0x24}, 0},
      {"shr", Signeds(-1, 60, 0x25), 15},
      {"shr of everything", {0x31, 0x08, 64, 0x25}, 0},
      {"shra", Signeds(-16, 2, 0x26), static_cast<uint64_t>(int64_t{-4})},
      {"shra of everything", Signeds(-16, 127, 0x26), kMinus1},
      {"xor", Lits(12, 10, 0x27), 6},
      {"eq", Lits(4, 4, 0x29), 1},
      {"ge is signed", Signeds(-1, 1, 0x2a), 0},
      {"ge of equals", Lits(4, 4, 0x2a), 1},
      {"gt", Lits(5, 4, 0x2b), 1},
      {"gt of equals", Lits(4, 4, 0x2b), 0},
      {"le", Signeds(-1, 1, 0x2c), 1},
      {"lt", Signeds(-1, 1, 0x2d), 1},
      {"lt of equals", Lits(4, 4, 0x2d), 0},
      {"ne", Lits(4, 4, 0x2e), 0},
      {"breg7", {0x77, 0x08}, 0x7008},
      {"breg with a negative offset", {0x77, 0x78}, 0x6ff8},
      {"bregx", {0x92, 12, 0x10}, 0xc010},
      {"deref", {0x77, 0, 0x06}, ~uint64_t{0x7000}},
      {"deref_size", {0x77, 0, 0x94, 2}, 0x8fff},
      {"nop", {0x31, 0x96}, 1},
      {"skip", {0x31, 0x2f, 1, 0, 0x32}, 1},
      {"bra taken", {0x35, 0x31, 0x28, 1, 0, 0x36}, 5},
      {"bra not taken", {0x35, 0x30, 0x28, 1, 0, 0x36}, 6},
      // 3 down to 0, one round each: backwards.
      {"loop", {0x33, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff}, 0},
      // The return of a PLT stub: rsp + 8 + ((rip & 15) >= 11) * 8.
      {"plt", {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 0x7008},
      // libcrypto: *(rsp + 8 * r8 + 8).
      {"libcrypto", {0x77, 8, 0x78, 0, 0x38, 0x1e, 0x22, 0x06}, ~uint64_t{0x7008 + 8 * 0x8000}},
  };
  for (const Case& one : cases) {
    const FrameValue result = Evaluate(one.bytes);
    EXPECT_EQ(result.fault, FrameFault::kNone) << one.name;
    EXPECT_EQ(result.value, one.value) << one.name;
  }
}

TEST(FrameExpressionTest, RulesOfRegistersStartWithTheFrameAddress) {
  EXPECT_EQ(Evaluate({0x23, 8}, 0x5000).value, 0x5008u);
  EXPECT_EQ(Evaluate({0x9c}, 0x5000).value, 0x5000u);
  EXPECT_EQ(Evaluate({0x23, 8}).fault, FrameFault::kDamaged) << "nothing on the stack";
  EXPECT_EQ(Evaluate({0x9c}).fault, FrameFault::kDamaged) << "it would mean itself";
}

TEST(FrameExpressionTest, SaysWhyThereIsNoValue) {
  const auto fault = [](const std::vector<uint8_t>& bytes) { return Evaluate(bytes).fault; };
  EXPECT_EQ(fault({}), FrameFault::kDamaged);
  EXPECT_EQ(fault({0x79, 0}), FrameFault::kUnknownRegister);
  EXPECT_EQ(fault({0x31, 0x06}), FrameFault::kUnreadable);
  EXPECT_EQ(fault({0x77, 0, 0x94, 0}), FrameFault::kDamaged);
  EXPECT_EQ(fault({0x77, 0, 0x94, 9}), FrameFault::kDamaged);
  EXPECT_EQ(fault(Lits(1, 0, 0x1b)), FrameFault::kDamaged) << "division by zero";
  EXPECT_EQ(fault(Lits(1, 0, 0x1d)), FrameFault::kDamaged);
  EXPECT_EQ(fault({0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, kConst1s, 0xff, 0x1b}), FrameFault::kNone)
      << "the quotient that does not fit wraps";
  EXPECT_EQ(fault({0x31, 0x22}), FrameFault::kDamaged) << "one operand";
  EXPECT_EQ(fault({0x31, 0x16}), FrameFault::kDamaged);
  EXPECT_EQ(fault({0x31, 0x32, 0x17}), FrameFault::kDamaged);
  EXPECT_EQ(fault({0x31, 0x15, 1}), FrameFault::kDamaged);
  EXPECT_EQ(fault({0x2f, 0xfd, 0xff}), FrameFault::kDamaged) << "an endless loop";
  EXPECT_EQ(fault({0x31, 0x2f, 1, 0}), FrameFault::kDamaged) << "a jump behind the end";
  EXPECT_EQ(fault({0x31, 0x2f, 0, 0x80}), FrameFault::kDamaged) << "a jump before the start";
  EXPECT_EQ(fault(std::vector<uint8_t>(65, 0x31)), FrameFault::kDamaged) << "too many values";
  EXPECT_EQ(fault(std::vector<uint8_t>(64, 0x31)), FrameFault::kNone);
  // addr, reg0, fbreg, piece, push_object_address, implicit_value, entry_value, convert, xderef
  for (const int operation : {0x03, 0x50, 0x91, 0x93, 0x97, 0x9e, 0xa3, 0xa8, 0x18}) {
    EXPECT_EQ(fault({0x31, static_cast<uint8_t>(operation)}), FrameFault::kUnsupported)
        << operation;
  }
}

TEST(FrameExpressionTest, EveryTruncationIsDamage) {
  const std::vector<std::vector<uint8_t>> operands = {
      {0x08, 1},          {0x0a, 1, 2},    {0x0c, 1, 2, 3, 4}, {0x0e, 1, 2, 3, 4, 5, 6, 7, 8},
      {0x10, 0x81, 1},    {0x31, 0x23, 1}, {0x31, 0x15, 0},    {0x31, 0x31, 0x28, 0, 0},
      {0x31, 0x2f, 0, 0}, {0x77, 1},       {0x92, 7, 1},       {0x77, 0, 0x94, 8}};
  for (const auto& whole : operands) {
    ASSERT_EQ(Evaluate(whole).fault, FrameFault::kNone) << int{whole.front()};
    const auto cut = std::vector<uint8_t>(whole.begin(), whole.end() - 1);
    EXPECT_EQ(Evaluate(cut).fault, FrameFault::kDamaged) << int{whole.front()};
  }
}

}  // namespace
}  // namespace vesta::object
