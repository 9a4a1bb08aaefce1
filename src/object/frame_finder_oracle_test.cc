// Compares the rules of all registers with what elfutils says, in real files, at every place where
// a rule begins and inside it. Both are applied to made-up registers and memory, so that two ways
// to write the same rule are equal.
#include <elfutils/libdw.h>
#include <gelf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/byte_reader.h"
#include "src/object/frame_finder.h"
#include "src/object/frame_rules.h"
#include "src/object/unwind_table.h"
#include "test/support/table_oracle.h"

namespace vesta::object {
namespace {

using base::FileSource;

constexpr uint64_t kStackPointer = 7;
constexpr uint64_t kReturnColumn = 16;
constexpr uint64_t kColumns = 17;

uint64_t RegisterValue(uint64_t column, uint64_t pc) {
  if (column == kReturnColumn) return pc;
  return 0x7f0000000000 + column * 0x100000 + (column == kStackPointer ? 0x8 : 0x10);
}

uint64_t MemoryAt(uint64_t address) { return address * 0x9e3779b97f4a7c15 >> 8; }

// Operations as elfutils has read them; empty for those that do not occur in rules. Written apart
// from our own evaluator.
class OracleExpression {
 public:
  OracleExpression(uint64_t pc, uint64_t frame_address) : pc_(pc), frame_address_(frame_address) {}

  // is_place: the result is where the value lies, not the value.
  std::optional<uint64_t> Evaluate(const Dwarf_Op* operations, size_t count, bool& is_place) {
    is_place = true;
    stack_.clear();
    for (size_t i = 0; i < count; ++i) {
      const Dwarf_Op& operation = operations[i];
      if (operation.atom == 0x9f) {  // stack_value
        is_place = false;
      } else if (operation.atom >= 0x50 && operation.atom <= 0x6f) {  // reg0..reg31
        stack_.push_back(RegisterValue(operation.atom - 0x50u, pc_));
        is_place = false;
      } else if (operation.atom == 0x90) {  // regx
        stack_.push_back(RegisterValue(operation.number, pc_));
        is_place = false;
      } else if (!Push(operation) && !Combine(operation)) {
        return std::nullopt;
      }
    }
    if (stack_.empty()) return std::nullopt;
    return stack_.back();
  }

 private:
  uint64_t Pop() {
    if (stack_.empty()) return 0;
    const uint64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  bool Push(const Dwarf_Op& operation) {
    const auto atom = operation.atom;
    if (atom >= 0x70 && atom <= 0x8f) {  // breg
      stack_.push_back(RegisterValue(atom - 0x70u, pc_) + operation.number);
    } else if (atom == 0x92) {  // bregx
      stack_.push_back(RegisterValue(operation.number, pc_) + operation.number2);
    } else if (atom >= 0x30 && atom <= 0x4f) {  // lit
      stack_.push_back(atom - 0x30u);
    } else if ((atom >= 0x08 && atom <= 0x11)) {  // const
      stack_.push_back(operation.number);
    } else if (atom == 0x9c) {  // call_frame_cfa
      stack_.push_back(frame_address_);
    } else {
      return false;
    }
    return true;
  }
  bool Combine(const Dwarf_Op& operation) {
    const uint64_t right = Pop();
    switch (operation.atom) {
      case 0x06:  // deref
        stack_.push_back(MemoryAt(right));
        return true;
      case 0x23:  // plus_uconst
        stack_.push_back(right + operation.number);
        return true;
      default:
        break;
    }
    const uint64_t left = Pop();
    switch (operation.atom) {
      case 0x1a:  // and
        stack_.push_back(left & right);
        return true;
      case 0x1c:  // minus
        stack_.push_back(left - right);
        return true;
      case 0x1e:  // mul
        stack_.push_back(left * right);
        return true;
      case 0x22:  // plus
        stack_.push_back(left + right);
        return true;
      case 0x24:  // shl
        stack_.push_back(left << right);
        return true;
      case 0x2a:  // ge
        stack_.push_back(left >= right ? 1 : 0);
        return true;
      default:
        return false;
    }
  }

  uint64_t pc_;
  uint64_t frame_address_;
  std::vector<uint64_t> stack_;
};

// What a rule comes to. The return address stands in its column.
struct Outcome {
  enum class Kind { kFrame, kRoot, kNone } kind = Kind::kNone;
  uint64_t frame_address = 0;
  std::optional<uint64_t> registers[kColumns];
};

// Where no rule says anything, elfutils 0.188 takes column 0 for rbx, which calls preserve. It
// is 3.
bool IsColumnOfRbx(const Outcome& ours, const Outcome& theirs, uint64_t column, uint64_t pc) {
  constexpr uint64_t kRax = 0;
  constexpr uint64_t kRbx = 3;
  const Outcome& with = column == kRax ? theirs : ours;
  const Outcome& without = column == kRax ? ours : theirs;
  return (column == kRax || column == kRbx) && !without.registers[column].has_value() &&
         with.registers[column] == RegisterValue(column, pc);
}

bool Same(const Outcome& ours, const Outcome& theirs, uint64_t pc) {
  if (ours.kind != theirs.kind) return false;
  if (ours.kind != Outcome::Kind::kFrame) return true;
  if (ours.frame_address != theirs.frame_address) return false;
  for (uint64_t column = 0; column < kColumns; ++column) {
    if (ours.registers[column] != theirs.registers[column] &&
        !IsColumnOfRbx(ours, theirs, column, pc)) {
      return false;
    }
  }
  return true;
}

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  out << "kind " << static_cast<int>(outcome.kind) << std::hex << " cfa " << outcome.frame_address;
  for (uint64_t column = 0; column < kColumns; ++column) {
    out << " r" << std::dec << column << std::hex << "=";
    if (outcome.registers[column].has_value()) out << *outcome.registers[column];
  }
  return out;
}

Outcome OracleOutcome(Dwarf_Frame* frame, uint64_t pc) {
  Outcome outcome;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_frame_cfa(frame, &operations, &count) != 0 || count == 0) return outcome;
  bool is_place = true;
  const auto frame_address = OracleExpression(pc, 0).Evaluate(operations, count, is_place);
  if (!frame_address.has_value()) return outcome;
  outcome.frame_address = *frame_address;
  for (uint64_t column = 0; column < kColumns; ++column) {
    Dwarf_Op memory[3];
    if (dwarf_frame_register(frame, static_cast<int>(column), memory, &operations, &count) != 0) {
      return outcome;
    }
    if (count == 0) {  // no operations at all: the same; none in `memory`: undefined
      if (operations == nullptr) outcome.registers[column] = RegisterValue(column, pc);
      continue;
    }
    const auto value = OracleExpression(pc, *frame_address).Evaluate(operations, count, is_place);
    if (!value.has_value()) return outcome;
    outcome.registers[column] = is_place ? MemoryAt(*value) : *value;
  }
  outcome.kind =
      outcome.registers[kReturnColumn].has_value() ? Outcome::Kind::kFrame : Outcome::Kind::kRoot;
  return outcome;
}

Outcome OurOutcome(FrameFinder& finder, uint64_t pc) {
  Outcome outcome;
  const auto found = finder.RulesAt(pc);
  if (!found.has_value()) return outcome;
  FrameRegisters registers;
  for (uint64_t column = 0; column < kColumns; ++column) {
    registers.Set(column, RegisterValue(column, pc));
  }
  const CallerFrame caller =
      FindCaller(finder.architecture(), found->rules, found->return_column, registers,
                 [](uint64_t address, uint8_t size_bytes) -> std::optional<uint64_t> {
                   if (size_bytes != 8) return std::nullopt;
                   return MemoryAt(address);
                 });
  if (caller.is_root) {
    outcome.kind = Outcome::Kind::kRoot;
    return outcome;
  }
  if (caller.fault != FrameFault::kNone) return outcome;
  outcome.kind = Outcome::Kind::kFrame;
  outcome.frame_address = caller.frame_address;
  for (uint64_t column = 0; column < kColumns; ++column) {
    outcome.registers[column] = caller.registers.Get(column);
  }
  return outcome;
}

struct Comparison {
  uint64_t place_count = 0;
  uint64_t difference_count = 0;
  uint64_t unanswered_count = 0;
  uint64_t beyond_table_count = 0;  // compared places for which the table has no rule
  std::string first_difference;
};

void ComparePlace(std::span<const uint32_t> words, FrameFinder& finder, Dwarf_Frame* frame,
                  uint64_t pc, Comparison& comparison) {
  const auto row = LookupRow(words, pc);
  const bool is_beyond_table =
      row.has_value() && row->kind == ABI_ROW_SPECIAL && row->operand == ABI_SPECIAL_UNSUPPORTED;
  ++comparison.place_count;
  const Outcome theirs = OracleOutcome(frame, pc);
  if (theirs.kind == Outcome::Kind::kNone) {
    ++comparison.unanswered_count;
    return;
  }
  const Outcome ours = OurOutcome(finder, pc);
  if (is_beyond_table) ++comparison.beyond_table_count;
  if (Same(ours, theirs, pc)) return;
  if (comparison.difference_count++ != 0) return;
  std::ostringstream text;
  text << "at " << std::hex << pc << ":\nours     " << ours << "\nelfutils " << theirs;
  comparison.first_difference = text.str();
}

Comparison CompareAll(Elf* elf_of_oracle, FrameFinder& finder, std::span<const uint32_t> words,
                      const std::vector<uint64_t>& starts, size_t stride) {
  Comparison comparison;
  test::VisitRules(elf_of_oracle, starts, stride, [&](Dwarf_Frame* frame, uint64_t pc) {
    ComparePlace(words, finder, frame, pc, comparison);
  });
  return comparison;
}

struct FileCase {
  const char* path;
  size_t stride;
  uint64_t beyond_table_min = 0;  // places that only this machine can answer
};

class FrameFinderOracleTest : public testing::TestWithParam<FileCase> {};

TEST_P(FrameFinderOracleTest, AgreesWithElfutilsOnEveryRegister) {
  auto opened = FileSource::Open(GetParam().path);
  if (!opened.ok()) GTEST_SKIP() << GetParam().path << " is not on this machine";
  const std::shared_ptr<const FileSource> source = std::move(*opened);
  const auto elf = ElfFile::Parse(*source);
  ASSERT_TRUE(elf.ok());
  const auto table = BuildUnwindTable(*elf, *source);
  ASSERT_TRUE(table.ok()) << table.error().message();
  auto finder = FrameFinder::Open(*elf, source);
  ASSERT_TRUE(finder.ok()) << finder.error().message();

  elf_version(EV_CURRENT);
  Elf* const elf_of_oracle = elf_begin(source->fd(), ELF_C_READ_MMAP, nullptr);
  ASSERT_NE(elf_of_oracle, nullptr);
  const auto starts = test::FunctionStarts(*elf, *source);
  const Comparison comparison =
      CompareAll(elf_of_oracle, **finder, table->words, starts, GetParam().stride);
  elf_end(elf_of_oracle);
  RecordProperty("places", static_cast<int>(comparison.place_count));
  RecordProperty("beyond_table", static_cast<int>(comparison.beyond_table_count));
  EXPECT_GT(comparison.place_count, starts.size() / GetParam().stride);
  EXPECT_EQ(comparison.difference_count, 0u) << comparison.first_difference;
  EXPECT_GE(comparison.beyond_table_count, GetParam().beyond_table_min);
  EXPECT_LE(comparison.unanswered_count, comparison.place_count / 1000)
      << "elfutils refuses what it has answered so far";
  EXPECT_LE((*finder)->memory_bytes(), size_t{3} << 20);
}

INSTANTIATE_TEST_SUITE_P(
    RealFiles, FrameFinderOracleTest,
    testing::Values(FileCase{"/lib/x86_64-linux-gnu/libc.so.6", 1, 3},
                    FileCase{"/lib64/ld-linux-x86-64.so.2", 1, 3},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 1},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 1, 3},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libgcrypt.so.20", 1, 3},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libm.so.6", 1},
                    FileCase{"/usr/bin/python3", 1}, FileCase{"/usr/bin/node", 8},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", 16}));

}  // namespace
}  // namespace vesta::object
