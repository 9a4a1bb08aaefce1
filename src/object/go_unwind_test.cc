#include "src/object/go_unwind.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <sstream>

#include "abi/unwind.h"
#include "src/object/go_pclntab.h"
#include "src/object/unwind_row.h"
#include "test/support/go_program.h"

namespace vesta::object {
namespace {

using base::FileSource;
using base::MemorySource;

constexpr uint32_t SpRow(uint32_t cfa_bytes, bool is_saved) {
  return RowBits(ABI_ROW_SP, cfa_bytes / 8 | (is_saved ? 2u << ABI_OPERAND_CFA_BITS : 0));
}

std::string Describe(uint32_t row_bits) {
  const uint32_t kind = row_bits >> ABI_ROW_KIND_SHIFT & 3;
  const uint32_t operand = row_bits >> ABI_ROW_OPERAND_SHIFT;
  if (kind == ABI_ROW_SPECIAL) {
    static constexpr const char* kNames[] = {"none", "root", "signal", "unsupported", "switch"};
    return kNames[operand];
  }
  return std::string(kind == ABI_ROW_SP ? "sp+" : "fp+") +
         std::to_string((operand & ABI_OPERAND_CFA_MASK) * 8) +
         (operand >> ABI_OPERAND_CFA_BITS == 2 ? " saved" : "");
}

// One instruction as `go tool objdump` prints it.
struct Instruction {
  uint64_t vaddr = 0;
  std::string function;
  std::string text;  // Go's notation: "SUBQ $0x18, SP"
};

std::vector<Instruction> Disassemble(const std::string& go, const std::string& path,
                                     const std::string& functions) {
  std::vector<Instruction> instructions;
  std::string function;
  std::istringstream lines(
      test::CommandOutput(go + " tool objdump -s '" + functions + "' " + path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("TEXT ")) {
      function = line.substr(5, line.find("(SB)") - 5);
      continue;
    }
    std::istringstream words(line);
    std::string place, vaddr, bytes;
    if (!(words >> place >> vaddr >> bytes)) continue;
    std::string text, word;
    while (words >> word) text += (text.empty() ? "" : " ") + word;
    instructions.push_back({std::stoull(vaddr, nullptr, 16), function, text});
  }
  return instructions;
}

int64_t Immediate(const std::string& text) {
  return std::stoll(text.substr(text.find('$') + 1), nullptr, 16);
}

// Follows the stack pointer through straight code and along forward jumps, knowing nothing of Go's
// tables. Unknown behind what does not return, until a jump from known code leads there.
class StackSimulation {
 public:
  struct State {
    int64_t depth = 0;
    bool is_saved = false;
  };

  std::optional<State> At(const Instruction& instruction) {
    if (instruction.function != function_) {
      function_ = instruction.function;
      state_ = State{};
      targets_.clear();
    }
    if (const auto target = targets_.find(instruction.vaddr); target != targets_.end()) {
      state_ = target->second;
    }
    const auto before = state_;
    if (state_) Step(instruction.text);
    return before;
  }

 private:
  void Step(const std::string& text) {
    if (text == "PUSHQ BP") {
      state_->depth += 8;
      if (state_->depth == 8) state_->is_saved = true;
    } else if (text.starts_with("PUSHQ") || text.starts_with("PUSHFQ")) {
      state_->depth += 8;
    } else if (text.starts_with("POPQ") || text.starts_with("POPFQ")) {
      state_->depth -= 8;
    } else if (text.starts_with("SUBQ $") && text.ends_with(", SP")) {
      state_->depth += Immediate(text);
    } else if (text.starts_with("ADDQ $") && text.ends_with(", SP")) {
      state_->depth -= Immediate(text);
    } else if (text.starts_with("MOVQ BP, ") && text.ends_with("(SP)")) {
      const int64_t place = std::stoll(text.substr(9), nullptr, 16);
      if (place == state_->depth - 8) state_->is_saved = true;
    } else if (text.starts_with("J")) {
      const size_t place = text.rfind("0x");
      if (place != std::string::npos && text.find('(') == std::string::npos) {
        targets_.emplace(std::stoull(text.substr(place), nullptr, 16), *state_);
      }
    }
    if (state_->depth == 0) state_->is_saved = false;
    if (text.starts_with("RET") || text.starts_with("JMP") || text.starts_with("UD2") ||
        text.starts_with("INT")) {
      state_.reset();
    }
  }

  std::string function_;
  std::optional<State> state_;
  std::map<uint64_t, State> targets_;
};

std::string RowAt(const std::vector<RowRange>& ranges, uint64_t vaddr) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), vaddr,
      [](uint64_t value, const RowRange& range) { return value < range.start_vaddr; });
  if (after == ranges.begin() || vaddr >= std::prev(after)->end_vaddr) return "-";
  return Describe(std::prev(after)->row_bits);
}

void ExpectWellFormed(const std::vector<RowRange>& ranges) {
  uint64_t last_end = 0;
  for (const RowRange& range : ranges) {
    ASSERT_LT(range.start_vaddr, range.end_vaddr);
    ASSERT_GE(range.start_vaddr, last_end);
    ASSERT_EQ(range.row_bits & ((1u << ABI_ROW_ADDRESS_BITS) - 1), 0u);
    last_end = range.end_vaddr;
  }
}

std::vector<RowRange> RangesOf(const std::string& path) {
  const auto source = FileSource::Open(path);
  EXPECT_TRUE(source.ok());
  const auto elf = ElfFile::Parse(**source);
  EXPECT_TRUE(elf.ok());
  auto ranges = GoUnwindRanges(*elf, **source);
  EXPECT_TRUE(ranges.ok()) << ranges.error().message();
  return ranges.ok() ? std::move(ranges).value() : std::vector<RowRange>();
}

TEST(GoUnwindTest, EveryInstructionAgreesWithASimulatedStack) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  for (const std::string& go : toolchains) {
    SCOPED_TRACE(go);
    const test::TemporaryFolder folder;
    const std::string path = test::BuildGoProgram(go, folder, "sample", "");
    ASSERT_FALSE(path.empty());
    const std::vector<RowRange> ranges = RangesOf(path);
    ExpectWellFormed(ranges);
    StackSimulation simulation;
    size_t checked_count = 0;
    size_t wrong_count = 0;
    for (const Instruction& instruction :
         Disassemble(go, path, "^(main|regexp|fmt|strconv|sort|os)\\.|^runtime\\.mallocgc")) {
      const auto state = simulation.At(instruction);
      if (!state) continue;
      ++checked_count;
      const auto cfa = static_cast<uint32_t>(state->depth + 8);
      const std::string row = RowAt(ranges, instruction.vaddr);
      if (row == Describe(SpRow(cfa, state->is_saved))) continue;
      if (++wrong_count < 10) {
        ADD_FAILURE() << std::hex << instruction.vaddr << " " << instruction.function << ": "
                      << instruction.text << ": " << row << ", simulated "
                      << Describe(SpRow(cfa, state->is_saved));
      }
    }
    EXPECT_EQ(wrong_count, 0u);
    EXPECT_GT(checked_count, 10'000u);
  }
}

// Rules at the instruction behind each `call` (which is what the walker asks for) of the functions
// that end or leave a stack.
TEST(GoUnwindTest, FunctionsThatLeaveTheStackHaveTheirRules) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  for (const std::string& go : toolchains) {
    SCOPED_TRACE(go);
    const test::TemporaryFolder folder;
    const std::string path = test::BuildGoProgram(go, folder, "sample", "");
    const std::vector<RowRange> ranges = RangesOf(path);
    std::map<std::string, std::map<std::string, std::string>> row_at_call;
    std::map<std::string, std::string> row_at_entry;
    std::map<std::string, std::string> row_at_end;
    for (const Instruction& instruction : Disassemble(
             go, path,
             "^(runtime\\.(goexit|mstart|rt0_go|mcall|morestack|systemstack|asmcgocall|nanotime1|"
             "clone|sigtramp|sigreturn|sigreturn__sigaction|asyncPreempt)|gogo|_rt0_amd64_linux)(."
             "abi0)?$")) {
      std::string name = instruction.function;
      if (name.ends_with(".abi0")) name.resize(name.size() - 5);
      const std::string row = RowAt(ranges, instruction.vaddr);
      row_at_entry.emplace(name, row);
      row_at_end[name] = row;
      if (instruction.text.starts_with("CALL ")) row_at_call[name][instruction.text] = row;
    }
    for (const char* root :
         {"runtime.goexit", "runtime.mstart", "runtime.rt0_go", "_rt0_amd64_linux"}) {
      EXPECT_EQ(row_at_entry[root], "root") << root;
      EXPECT_EQ(row_at_end[root], "root") << root;
    }
    EXPECT_EQ(row_at_entry["runtime.sigreturn__sigaction"] + row_at_entry["runtime.sigreturn"],
              "signal");
    for (const char* name :
         {"runtime.mcall", "runtime.morestack", "runtime.systemstack", "runtime.asmcgocall",
          "runtime.nanotime1", "runtime.clone", "gogo", "runtime.sigtramp"}) {
      EXPECT_EQ(row_at_entry[name], "sp+8") << name;
    }
    EXPECT_EQ(row_at_call["runtime.mcall"]["CALL R12"], "root");
    EXPECT_EQ(row_at_call["runtime.clone"]["CALL R12"], "root");
    EXPECT_EQ(row_at_call["runtime.morestack"]["CALL runtime.newstack(SB)"] +
                  row_at_call["runtime.morestack"]["CALL runtime.newstack.abi0(SB)"],
              "root");
    EXPECT_EQ(row_at_call["runtime.systemstack"]["CALL DI"], "switch");
    EXPECT_EQ(row_at_call["runtime.nanotime1"]["CALL AX"], "switch");
    EXPECT_EQ(row_at_end["gogo"], "unsupported");
    // The signal handler is left towards the interrupted code.
    ASSERT_FALSE(row_at_call["runtime.sigtramp"].empty());
    EXPECT_EQ(row_at_call["runtime.sigtramp"].begin()->second, "sp+80 saved");
    ASSERT_FALSE(row_at_call["runtime.asyncPreempt"].empty());
    EXPECT_TRUE(row_at_call["runtime.asyncPreempt"].begin()->second.ends_with("saved"));
  }
}

TEST(GoUnwindTest, BuildsOfOneProgramHaveTheSameRules) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  const test::TemporaryFolder folder;
  const auto row_count = [&](const char* flags) {
    const auto ranges = RangesOf(test::BuildGoProgram(toolchains[0], folder, "sample", flags));
    ExpectWellFormed(ranges);
    return static_cast<double>(ranges.size());
  };
  const double normal = row_count("");
  EXPECT_GT(normal, 5'000);  // 9,136 with Go 1.19
  EXPECT_NEAR(row_count("-ldflags='-s -w'"), normal, normal / 50);
  EXPECT_NEAR(row_count("-buildmode=pie -ldflags='-s -w'"), normal, normal / 50);
}

TEST(GoUnwindTest, OtherProgramsHaveNone) { EXPECT_TRUE(RangesOf("/proc/self/exe").empty()); }

TEST(GoUnwindTest, DamagedTablesGiveWellFormedRanges) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  const test::TemporaryFolder folder;
  const auto file =
      FileSource::Open(test::BuildGoProgram(toolchains[0], folder, "sample", "-ldflags='-s -w'"));
  ASSERT_TRUE(file.ok());
  const auto original = (*file)->Read(0, (*file)->size_bytes());
  const auto elf = ElfFile::Parse(**file);
  const Section* section = elf->FindSection(".gopclntab");
  ASSERT_NE(section, nullptr);
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    std::vector<std::byte> bytes = *original;
    for (int i = 0; i < 2000; ++i) {
      bytes[section->file_offset + 72 + random() % (section->size_bytes - 72)] =
          static_cast<std::byte>(random());
    }
    const MemorySource source(bytes);
    const auto ranges = GoUnwindRanges(*elf, source);
    if (ranges.ok()) ExpectWellFormed(*ranges);
  }
  for (const uint64_t size : {uint64_t{0}, uint64_t{7}, uint64_t{64}, section->size_bytes / 2}) {
    std::vector<std::byte> bytes(
        original->begin(), original->begin() + static_cast<long>(section->file_offset + size));
    const MemorySource source(bytes);
    const auto ranges = GoUnwindRanges(*elf, source);
    if (ranges.ok()) ExpectWellFormed(*ranges);
  }
}

}  // namespace
}  // namespace vesta::object
