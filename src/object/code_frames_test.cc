#include "src/object/code_frames.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <ctime>
#include <initializer_list>
#include <string>

#include "src/object/elf_image_for_test.h"
#include "src/object/uncovered_code.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

constexpr uint64_t kVaddr = 0x2000;

using Code = std::vector<uint8_t>;

Code operator+(const Code& a, const Code& b) {
  Code both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

const Code kPushRbp = {0x55};
const Code kPushRbx = {0x53};
const Code kPopRbp = {0x5d};
const Code kPopRbx = {0x5b};
const Code kReturn = {0xc3};
const Code kNop = {0x90};
const Code kTrap = {0x0f, 0x0b};
const Code kMovRbpRsp = {0x48, 0x89, 0xe5};
const Code kMovRspRbp = {0x48, 0x89, 0xec};
const Code kClearRbp = {0x31, 0xed};
const Code kSubRsp = {0x48, 0x83, 0xec};  // and one byte
const Code kAddRsp = {0x48, 0x83, 0xc4};  // and one byte
const Code kAlignRsp = {0x48, 0x83, 0xe4, 0xc0};
const Code kJumpRax = {0xff, 0xe0};
const Code kCallRax = {0xff, 0xd0};

Code Call(int32_t offset) {
  const auto bits = static_cast<uint32_t>(offset);
  return {0xe8, static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8),
          static_cast<uint8_t>(bits >> 16), static_cast<uint8_t>(bits >> 24)};
}
Code JumpIfZero(int8_t offset) { return {0x74, static_cast<uint8_t>(offset)}; }
Code Jump(int8_t offset) { return {0xeb, static_cast<uint8_t>(offset)}; }

std::string Describe(uint32_t row_bits) {
  const uint32_t operand = row_bits >> ABI_ROW_OPERAND_SHIFT;
  const uint32_t kind = row_bits >> ABI_ROW_KIND_SHIFT & 3;
  std::string text = kind == ABI_ROW_FP ? "fp+" : "sp+";
  text += std::to_string(8 * (operand & ABI_OPERAND_CFA_MASK));
  const uint32_t slot = operand >> ABI_OPERAND_CFA_BITS;
  if (slot != 0) text += " saved " + std::to_string(8 * slot);
  return text;
}

// The rows of one piece of code, by offset from its start; "" where there is none.
class Rows {
 public:
  explicit Rows(const Code& code, std::initializer_list<uint64_t> functions = {0},
                uint64_t root_vaddr = 0)
      : text_(code.size()) {
    CodePiece piece{kVaddr, {}};
    for (const uint8_t byte : code) piece.bytes.push_back(std::byte{byte});
    std::vector<uint64_t> vaddrs;
    for (const uint64_t offset : functions) vaddrs.push_back(kVaddr + offset);
    frames_ = FindCodeFrames(std::span(&piece, 1), vaddrs, root_vaddr);
    for (const RowRange& row : frames_.rows) {
      for (uint64_t v = row.start_vaddr; v < row.end_vaddr; ++v) {
        text_.at(v - kVaddr) = Describe(row.row_bits);
      }
    }
  }
  const std::string& At(size_t offset) const { return text_.at(offset); }
  bool empty() const { return frames_.rows.empty(); }
  const CodeFrames& frames() const { return frames_; }

 private:
  CodeFrames frames_;
  std::vector<std::string> text_;
};

TEST(CodeFramesTest, FollowsPushesAndPops) {
  const Rows rows(kPushRbx + kPushRbp + kClearRbp + kPopRbp + kPopRbx + kReturn);
  EXPECT_EQ(rows.At(0), "sp+8");
  EXPECT_EQ(rows.At(1), "sp+16");
  EXPECT_EQ(rows.At(2), "sp+24 saved 24");
  EXPECT_EQ(rows.At(4), "sp+24 saved 24") << "at the pop: the register has another value";
  EXPECT_EQ(rows.At(5), "sp+16");
  EXPECT_EQ(rows.At(6), "sp+8");
  EXPECT_EQ(rows.frames().confirmed_count, 1u);
}

// As BLAKE3's assembly: registers are pushed above the frame pointer, so that [fp + 8] is none of
// the caller's, and the stack is aligned.
TEST(CodeFramesTest, FramePointerBelowOtherRegistersThenAlignedStack) {
  const Rows rows(kPushRbx + kPushRbp + kMovRbpRsp + kSubRsp + Code{0x40} + kAlignRsp + kNop +
                  kMovRspRbp + kPopRbp + kPopRbx + kReturn);
  EXPECT_EQ(rows.At(2), "sp+24 saved 24");
  EXPECT_EQ(rows.At(5), "fp+24 saved 24");
  EXPECT_EQ(rows.At(13), "fp+24 saved 24");
  EXPECT_EQ(rows.At(18), "sp+16");
  EXPECT_EQ(rows.At(19), "sp+8");
}

TEST(CodeFramesTest, LeaveAndEnter) {
  const Rows rows(Code{0xc8, 0x20, 0x00, 0x00} + kNop + Code{0xc9} + kReturn);
  EXPECT_EQ(rows.At(4), "fp+16 saved 16");
  EXPECT_EQ(rows.At(6), "sp+8");
}

TEST(CodeFramesTest, MovedStackPointerWithoutFramePointerIsNotFollowed) {
  EXPECT_TRUE(Rows(kAlignRsp + kReturn).empty());
}

TEST(CodeFramesTest, ReturnAtAnotherDepthIsNotBelieved) {
  const Rows rows(kPushRbx + kReturn);
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(rows.frames().rejected_count, 1u);
}

TEST(CodeFramesTest, ReturnWithAnotherFramePointerIsNotBelieved) {
  EXPECT_TRUE(Rows(kClearRbp + kReturn).empty());
  EXPECT_TRUE(Rows(kPushRbp + kClearRbp + kPopRbx + kReturn).empty());
}

TEST(CodeFramesTest, WaysThatDisagreeAreNotBelieved) {
  // One way pushes, the other does not; both come to the same return.
  EXPECT_TRUE(Rows(JumpIfZero(1) + kPushRbx + kReturn).empty());
}

TEST(CodeFramesTest, BranchesCarryTheFrame) {
  const Rows rows(kPushRbx + JumpIfZero(2) + kPopRbx + kReturn + kNop + kPopRbx + kReturn);
  EXPECT_EQ(rows.At(5), "sp+16");
  EXPECT_EQ(rows.At(7), "sp+8");
}

TEST(CodeFramesTest, ACallThatCannotReturnIsFound) {
  // The callee traps, so that behind the call another depth may hold.
  const Code callee = kTrap;
  const Code caller = kPushRbx + JumpIfZero(2) + kPopRbx + kReturn;
  const Code cold = Call(-12) + kNop;
  const Code next = kPushRbx + kPopRbx + kReturn;
  // 2: caller, its branch goes to 7: cold; 13: next, which nobody names.
  const Rows rows(callee + caller + cold + next, {2});
  EXPECT_EQ(rows.At(7), "sp+16");
  EXPECT_EQ(rows.At(13), "sp+8");
  EXPECT_EQ(rows.At(14), "sp+16");
}

TEST(CodeFramesTest, ACallIsFoundNotToReturnByTheCodeBehindIt) {
  // Nothing is known of the callee, but if it returned, the next function would be entered with
  // something on the stack.
  const Rows rows(kPushRbx + kCallRax + kPushRbx + kPopRbx + kReturn, {0, 3});
  EXPECT_EQ(rows.At(1), "sp+16");
  EXPECT_EQ(rows.At(3), "sp+8");
}

TEST(CodeFramesTest, CasesOfASwitchHaveTheDepthOfItsJump) {
  const Code head = kPushRbx + kJumpRax;
  const Code one = kNop + kPopRbx + kReturn;  // at 3
  const Code two = Jump(-5);                  // at 6, to 3
  const Code other = kPushRbp + kPopRbp + kReturn;
  const Rows rows(head + one + two + other, {0, 8});
  EXPECT_EQ(rows.At(3), "sp+16");
  EXPECT_EQ(rows.At(5), "sp+8");
  EXPECT_EQ(rows.At(6), "sp+16");
  EXPECT_EQ(rows.At(9), "sp+16 saved 16");
}

TEST(CodeFramesTest, CodeThatNothingReachesNeedsAReturnOrItIsNoFunction) {
  const Rows rows(kReturn + kNop + kPushRbx + kPopRbx + kReturn + kTrap + kPushRbx + kTrap);
  EXPECT_EQ(rows.At(3), "sp+16");
  EXPECT_EQ(rows.At(7), "");
  EXPECT_EQ(rows.At(8), "");
}

TEST(CodeFramesTest, AGuessedFunctionCallsWithTheStackAligned) {
  const Code aligned = kPushRbx + kCallRax + kPopRbx + kReturn;
  const Code misaligned = kCallRax + kNop + kReturn;
  const Rows rows(kReturn + aligned + misaligned);
  EXPECT_EQ(rows.At(2), "sp+16");
  EXPECT_EQ(rows.At(6), "");
  EXPECT_EQ(Rows(misaligned).At(0), "sp+8") << "but a named one may do as it likes";
}

TEST(CodeFramesTest, AFunctionThatNeverReturnsIsKnownByItsAddress) {
  const Code endless = kPushRbx + kCallRax + kTrap;             // at 8
  const Code lea = {0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x00};  // lea 0(%rip),%rax
  const auto with = [&](uint8_t distance, const Code& code) {
    Code pointer = lea;
    pointer[3] = distance;
    return Rows(pointer + kReturn + code);
  };
  EXPECT_EQ(with(1, endless).At(9), "sp+16");
  EXPECT_EQ(with(9, endless).At(9), "") << "nothing points at it";
  EXPECT_EQ(with(1, kCallRax + kTrap).At(8), "") << "misaligned at the call";
}

TEST(CodeFramesTest, NobodyCallsTheRoot) {
  const Rows rows(kPushRbx + kPopRbx + kReturn, {0}, kVaddr);
  EXPECT_TRUE(rows.empty());
}

TEST(CodeFramesTest, AnOverwrittenReturnAddressIsNoCaller) {
  // mov %rax,(%rsp), as retpolines do
  EXPECT_TRUE(Rows(Code{0x48, 0x89, 0x04, 0x24} + kReturn).empty());
}

TEST(CodeFramesTest, AFramePointerKeptBySp) {
  // mov %rbp,8(%rsp) and back
  const Rows rows(kSubRsp + Code{0x18} + Code{0x48, 0x89, 0x6c, 0x24, 0x08} + kClearRbp +
                  Code{0x48, 0x8b, 0x6c, 0x24, 0x08} + kAddRsp + Code{0x18} + kReturn);
  EXPECT_EQ(rows.At(4), "sp+32");
  EXPECT_EQ(rows.At(9), "sp+32 saved 24");
  EXPECT_EQ(rows.At(20), "sp+8");
}

TEST(CodeFramesTest, GarbageAndTruncatedCodeGiveNothing) {
  EXPECT_TRUE(Rows({}).empty());
  EXPECT_TRUE(Rows({0x06, 0x06}).empty());
  EXPECT_TRUE(Rows({0x48}).empty());
  EXPECT_TRUE(Rows(kPushRbx + kPopRbx).empty()) << "runs off the end";
  EXPECT_TRUE(Rows(Jump(2) + Code{0xb8, 0x90} + kReturn + kNop).frames().rows.size() < 3);
}

// An image whose sections are this code, and nothing else.
UncoveredCode UncoveredOf(const std::string& section, const Code& code, CodeCoverage& covered) {
  ElfImage image;
  image.header().e_entry = 0;
  const uint64_t at = image.Add(code);
  const std::string names = std::string(1, '\0') + section + '\0' + ".shstrtab" + '\0';
  const uint64_t names_at = image.AddText(names);
  Elf64_Shdr header = SectionHeader(1, SHT_PROGBITS, at, code.size());
  header.sh_addr = kVaddr;
  header.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  image.SetSections({SectionHeader(0, SHT_NULL, 0, 0), header,
                     SectionHeader(static_cast<uint32_t>(section.size() + 2), SHT_STRTAB, names_at,
                                   names.size())});
  image.header().e_shstrndx = 2;
  const base::MemorySource source(image.bytes());
  const auto elf = ElfFile::Parse(source);
  EXPECT_TRUE(elf.ok());
  return elf.ok() ? FindUncoveredCode(*elf, source, covered) : UncoveredCode{};
}

// Words from the stack pointer to the frame address, by offset from the start of the section.
std::vector<int> WordsOf(const Code& code) {
  std::vector<int> words(code.size(), 0);
  CodeCoverage covered;
  for (const RowRange& range : UncoveredOf(".init", code, covered).frames.rows) {
    for (uint64_t vaddr = range.start_vaddr; vaddr < range.end_vaddr; ++vaddr) {
      words.at(vaddr - kVaddr) = static_cast<int>(range.row_bits >> ABI_ROW_OPERAND_SHIFT);
    }
  }
  return words;
}

TEST(UncoveredCodeTest, InitOfGlibc) {
  EXPECT_EQ(WordsOf({0x48, 0x83, 0xec, 0x08, 0x90, 0x48, 0x83, 0xc4, 0x08, 0xc3}),
            std::vector<int>({1, 1, 1, 1, 2, 2, 2, 2, 2, 1}));
  EXPECT_EQ(WordsOf({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3}),
            std::vector<int>({1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 1}));
}

TEST(UncoveredCodeTest, InitOfMusl) {
  EXPECT_EQ(WordsOf({0x50, 0x90, 0x58, 0xc3}), std::vector<int>({1, 2, 2, 1}));
}

TEST(UncoveredCodeTest, WithoutAnEndNothingIsClaimed) {
  EXPECT_EQ(WordsOf({0x48, 0x83, 0xec, 0x08}), std::vector<int>({0, 0, 0, 0}));
}

TEST(UncoveredCodeTest, WhatIsCoveredIsLeftAlone) {
  const Code code = kPushRbx + kPopRbx + kReturn + Code(20, 0x90) + kPushRbx + kPopRbx + kReturn;
  CodeCoverage covered;
  covered.Add(kVaddr, kVaddr + 23);
  const UncoveredCode found = UncoveredOf(".text", code, covered);
  EXPECT_EQ(found.scanned_bytes, 3u);
  ASSERT_EQ(found.frames.rows.size(), 3u);
  EXPECT_EQ(found.frames.rows[0].start_vaddr, kVaddr + 23);
}

// Hostile code must not keep the agent's only thread busy. Each of these took twenty seconds and
// more while its cost grew with the square of its size; without sanitizers it takes a tenth of one.
class CodeFramesCostTest : public ::testing::Test {
 protected:
  static constexpr double kCpuSecondsMax = 5;
  static constexpr size_t kScanBytesMax = 1 << 20;

  void TearDown() override {
    EXPECT_LT(static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC, kCpuSecondsMax);
  }

 private:
  std::clock_t start_ = std::clock();
};

void AppendRelative(Code& code, const Code& opcode, size_t target) {
  code.insert(code.end(), opcode.begin(), opcode.end());
  const auto offset = static_cast<uint32_t>(target - (code.size() + 4));
  for (unsigned shift = 0; shift < 32; shift += 8) {
    code.push_back(static_cast<uint8_t>(offset >> shift));
  }
}

TEST_F(CodeFramesCostTest, MisalignedCallsThatNoOtherCallLeadsTo) {
  constexpr size_t kCount = 85'000;
  Code code;
  for (size_t i = 0; i < kCount; ++i) AppendRelative(code, {0x0f, 0x84}, 6 * kCount + 1 + 6 * i);
  code.push_back(0xc3);
  for (size_t i = 0; i < kCount; ++i) {
    AppendRelative(code, {0xe8}, 0x7000000);
    code.push_back(0xc3);
  }
  ASSERT_LE(code.size(), kScanBytesMax);
  const Rows rows(code);
  EXPECT_EQ(rows.At(0), "sp+8");
  EXPECT_EQ(rows.At(code.size() - 1), "sp+8");
}

TEST_F(CodeFramesCostTest, CasesThatEachChangeWhatCameBefore) {
  constexpr size_t kCount = 40'000;
  constexpr size_t kJump = 1 + 6 * kCount;
  constexpr size_t kBlocks = kJump + 2;
  Code code = kPushRbp;
  for (size_t i = 0; i < kCount; ++i) AppendRelative(code, {0x0f, 0x84}, kBlocks + 7 * i);
  code.insert(code.end(), kJumpRax.begin(), kJumpRax.end());
  for (size_t i = 0; i < kCount; ++i) AppendRelative(code, {0x66, 0x90, 0xe9}, kJump);
  for (size_t i = 0; i < kCount; ++i) {
    AppendRelative(code, {0x31, 0xed, 0x0f, 0x84}, kBlocks + 7 * i);
    code.push_back(0x5d);
    code.push_back(0xc3);
  }
  ASSERT_LE(code.size(), kScanBytesMax);
  const Rows rows(code);
  EXPECT_EQ(rows.At(0), "sp+8");
  EXPECT_EQ(rows.At(kJump), "sp+16 saved 16");
}

TEST_F(CodeFramesCostTest, StatesAreFew) {
  // A function that comes to more of them is not believed; the others are.
  constexpr size_t kPushes = 100'000;
  Code code;
  for (size_t i = 0; i < kPushes; ++i) code.insert(code.end(), {0x41, 0x54});  // push %r12
  for (size_t i = 0; i < kPushes; ++i) code.insert(code.end(), {0x41, 0x5c});
  code.push_back(0xc3);
  const size_t second = code.size();
  code = code + kPushRbx + kPopRbx + kReturn;
  const Rows rows(code, {0, second});
  EXPECT_EQ(rows.At(0), "");
  EXPECT_EQ(rows.At(second + 1), "sp+16");
}

// Functions that are tried because they are named, by a symbol table behind that many other ones.
// The code is not one that would be found without a name.
uint64_t NamesBehindTables(size_t table_count) {
  constexpr size_t kTableBytes = 1 << 20;
  Code code(2048, 0x90);
  code.at(1023) = code.back() = 0xc3;
  code.at(0) = code.at(1024) = 0x53;  // pushed and not popped: only what is named is counted
  ElfImage image;
  image.header().e_entry = 0;
  const uint64_t code_at = image.Add(code);
  Elf64_Sym symbol{};
  symbol.st_info = STT_FUNC;
  symbol.st_shndx = 1;
  symbol.st_value = kVaddr + 1024;
  const uint64_t name_at = image.Add(std::vector<Elf64_Sym>{symbol});
  const uint64_t table_at = image.Add(std::vector<char>(kTableBytes));
  Elf64_Shdr text = SectionHeader(0, SHT_PROGBITS, code_at, code.size());
  text.sh_addr = kVaddr;
  text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  std::vector<Elf64_Shdr> sections = {SectionHeader(0, SHT_NULL, 0, 0), text};
  sections.insert(sections.end(), table_count, SectionHeader(0, SHT_SYMTAB, table_at, kTableBytes));
  sections.push_back(SectionHeader(0, SHT_SYMTAB, name_at, sizeof(symbol)));
  image.SetSections(sections);
  const base::MemorySource source(image.bytes());
  const auto elf = ElfFile::Parse(source);
  EXPECT_TRUE(elf.ok());
  CodeCoverage covered;
  return elf.ok() ? FindUncoveredCode(*elf, source, covered).frames.rejected_count : 0;
}

TEST(UncoveredCodeTest, SymbolTablesHaveOneLimitTogether) {
  EXPECT_EQ(NamesBehindTables(1), 1u);
  EXPECT_EQ(NamesBehindTables(15), 1u);
  EXPECT_EQ(NamesBehindTables(16), 0u);
}

TEST(UncoveredCodeTest, NotMoreThanTheLimit) {
  CodeCoverage covered;
  const UncoveredCode found = UncoveredOf(".text", Code((1 << 20) + 5, 0xc3), covered);
  EXPECT_EQ(found.scanned_bytes, uint64_t{1} << 20);
  EXPECT_EQ(found.left_out_bytes, 5u);
}

TEST(CodeCoverageTest, RangesInAnyOrderBecomeFew) {
  CodeCoverage covered;
  for (uint64_t i = 100; i > 0; --i) covered.Add(i * 32, i * 32 + 20);
  covered.Add(0x10000, 0x10001);
  covered.Add(0x20000, 0x20000);
  ASSERT_EQ(covered.Ranges().size(), 2u);
  EXPECT_EQ(covered.Ranges()[0].start_vaddr, 32u);
  EXPECT_EQ(covered.Ranges()[0].end_vaddr, 3220u);
}

TEST(UncoveredCodeTest, IsPartOfTheTableOfThisProgram) {
  const auto source = base::FileSource::Open("/proc/self/exe");
  ASSERT_TRUE(source.ok());
  const auto elf = ElfFile::Parse(**source);
  ASSERT_TRUE(elf.ok());
  const Section* const init = elf->FindSection(".init");
  ASSERT_NE(init, nullptr);
  const auto table = BuildUnwindTable(*elf, **source);
  ASSERT_TRUE(table.ok());
  EXPECT_GT(table->stats.confirmed_function_count, 0u);
  const auto row = LookupRow(table->words, init->vaddr);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->kind, uint32_t{ABI_ROW_SP});
  EXPECT_EQ(row->operand, 1u);
}

}  // namespace
}  // namespace vesta::object
