#include "test/support/table_oracle.h"

#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <sstream>

#include "src/base/byte_reader.h"
#include "src/object/frame_architecture.h"
#include "src/object/unwind_table.h"

namespace vesta::test {
namespace {

// Source: DWARF 5 section 7.7.1.
enum Operation : uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst8s = 0x0f,
  kConstU = 0x10,
  kConstS = 0x11,
  kAnd = 0x1a,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShiftLeft = 0x24,
  kGreaterOrEqual = 0x2a,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kReg0 = 0x50,
  kReg31 = 0x6f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kRegx = 0x90,
  kBregx = 0x92,
  kCallFrameCfa = 0x9c,
  kStackValue = 0x9f,
};

uint64_t RegisterValue(const object::FrameArchitecture& machine, uint64_t column, uint64_t pc) {
  if (column == machine.return_column && !machine.has_link_register) return pc;
  return 0x7f0000000000 + column * 0x100000 + (column == machine.stack_pointer_column ? 0x8 : 0x10);
}

uint64_t MemoryAt(uint64_t address) { return address * 0x9e3779b97f4a7c15 >> 8; }

// What a rule comes to: enough to tell two rules apart.
struct Outcome {
  enum class Kind { kFrame, kRoot, kSignal, kNone, kUnsupported } kind = Kind::kNone;
  uint64_t frame_address = 0;
  uint64_t frame_pointer = 0;
  uint64_t return_address = 0;

  bool operator==(const Outcome& other) const {
    return kind == other.kind && frame_address == other.frame_address &&
           frame_pointer == other.frame_pointer && return_address == other.return_address;
  }
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << "kind " << static_cast<int>(outcome.kind) << std::hex << " cfa "
             << outcome.frame_address << " fp " << outcome.frame_pointer << " ra "
             << outcome.return_address;
}

// The operations that occur in rules; empty for any other one.
std::optional<uint64_t> Evaluate(const object::FrameArchitecture& machine,
                                 const Dwarf_Op* operations, size_t count, uint64_t pc,
                                 uint64_t frame_address, bool& is_place) {
  std::vector<uint64_t> stack;
  is_place = true;
  const auto pop = [&] {
    if (stack.empty()) return uint64_t{0};
    const uint64_t value = stack.back();
    stack.pop_back();
    return value;
  };
  for (size_t i = 0; i < count; ++i) {
    const Dwarf_Op& operation = operations[i];
    const auto atom = operation.atom;
    if (atom >= kBreg0 && atom <= kBreg31) {
      stack.push_back(RegisterValue(machine, atom - kBreg0, pc) + operation.number);
    } else if (atom == kBregx) {
      stack.push_back(RegisterValue(machine, operation.number, pc) + operation.number2);
    } else if (atom == kRegx) {
      stack.push_back(RegisterValue(machine, operation.number, pc));
      is_place = false;
    } else if (atom >= kReg0 && atom <= kReg31) {
      stack.push_back(RegisterValue(machine, atom - kReg0, pc));
      is_place = false;
    } else if (atom >= kLit0 && atom <= kLit31) {
      stack.push_back(atom - kLit0);
    } else if ((atom >= kConst1u && atom <= kConst8s) || atom == kConstU || atom == kConstS) {
      stack.push_back(operation.number);
    } else if (atom == kCallFrameCfa) {
      stack.push_back(frame_address);
    } else if (atom == kPlusUconst) {
      stack.push_back(pop() + operation.number);
    } else if (atom == kDeref) {
      stack.push_back(MemoryAt(pop()));
    } else if (atom == kStackValue) {
      is_place = false;
    } else {
      const uint64_t right = pop();
      const uint64_t left = pop();
      if (atom == kPlus) {
        stack.push_back(left + right);
      } else if (atom == kAnd) {
        stack.push_back(left & right);
      } else if (atom == kShiftLeft) {
        stack.push_back(left << right);
      } else if (atom == kGreaterOrEqual) {
        stack.push_back(left >= right ? 1 : 0);
      } else {
        return std::nullopt;
      }
    }
  }
  if (stack.empty()) return std::nullopt;
  return stack.back();
}

// The caller's value of a register as elfutils has it; empty when it is undefined.
std::optional<uint64_t> RegisterOf(const object::FrameArchitecture& machine, Dwarf_Frame* frame,
                                   int column, uint64_t pc, uint64_t frame_address) {
  Dwarf_Op memory[3];
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_frame_register(frame, column, memory, &operations, &count) != 0) return std::nullopt;
  if (count == 0) {
    if (operations != nullptr) return std::nullopt;
    return RegisterValue(machine, static_cast<uint64_t>(column), pc);
  }
  bool is_place = true;
  const auto value = Evaluate(machine, operations, count, pc, frame_address, is_place);
  if (!value.has_value()) return std::nullopt;
  return is_place ? MemoryAt(*value) : *value;
}

Outcome OracleOutcome(const object::FrameArchitecture& machine, Dwarf_Frame* frame, uint64_t pc) {
  Outcome outcome;
  bool is_signal = false;
  dwarf_frame_info(frame, nullptr, nullptr, &is_signal);
  if (is_signal) {
    outcome.kind = Outcome::Kind::kSignal;
    return outcome;
  }
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_frame_cfa(frame, &operations, &count) != 0 || count == 0) return outcome;
  bool is_place = true;
  const auto frame_address = Evaluate(machine, operations, count, pc, 0, is_place);
  if (!frame_address.has_value()) return outcome;
  const auto return_address = RegisterOf(machine, frame, machine.return_column, pc, *frame_address);
  if (!return_address.has_value()) {
    outcome.kind = Outcome::Kind::kRoot;
    return outcome;
  }
  outcome.kind = Outcome::Kind::kFrame;
  outcome.frame_address = *frame_address;
  outcome.return_address = *return_address;
  outcome.frame_pointer =
      RegisterOf(machine, frame, machine.frame_pointer_column, pc, *frame_address)
          .value_or(RegisterValue(machine, machine.frame_pointer_column, pc));
  return outcome;
}

Outcome SpecialOutcome(const object::FrameArchitecture& machine, uint32_t operand, uint64_t pc) {
  Outcome outcome;
  switch (operand & ABI_SPECIAL_MASK) {
    case ABI_SPECIAL_ROOT:
      outcome.kind = Outcome::Kind::kRoot;
      break;
    case ABI_SPECIAL_SIGNAL:
      outcome.kind = Outcome::Kind::kSignal;
      break;
    case ABI_SPECIAL_UNSUPPORTED:
      outcome.kind = Outcome::Kind::kUnsupported;
      break;
    case ABI_SPECIAL_PLT:
      outcome.kind = Outcome::Kind::kFrame;
      outcome.frame_address = RegisterValue(machine, machine.stack_pointer_column, pc) + 8 +
                              ((pc & 15) >= operand >> ABI_SPECIAL_PLT_SHIFT ? 8 : 0);
      outcome.frame_pointer = RegisterValue(machine, machine.frame_pointer_column, pc);
      outcome.return_address = MemoryAt(outcome.frame_address - 8);
      break;
    default:
      break;
  }
  return outcome;
}

Outcome RuleOutcome(const object::FrameArchitecture& machine, const abi_rule& rule, uint64_t pc) {
  const auto plus = [](uint64_t value, int64_t offset) {
    return value + static_cast<uint64_t>(offset);
  };
  Outcome outcome;
  outcome.kind = Outcome::Kind::kFrame;
  outcome.frame_address = plus(RegisterValue(machine, rule.cfa_register, pc), rule.cfa_offset);
  if (rule.cfa_kind == ABI_CFA_DEREF) {
    outcome.frame_address = plus(MemoryAt(outcome.frame_address), rule.extra);
  }
  const uint64_t frame_pointer = RegisterValue(machine, machine.frame_pointer_column, pc);
  switch (rule.fp_kind) {
    case ABI_FP_AT_CFA:
      outcome.frame_pointer = MemoryAt(plus(outcome.frame_address, rule.fp_offset));
      break;
    case ABI_FP_AT_FP:
      outcome.frame_pointer = MemoryAt(plus(frame_pointer, rule.fp_offset));
      break;
    default:
      outcome.frame_pointer = frame_pointer;
      break;
  }
  if (rule.ra_kind == ABI_RA_REGISTER) {
    outcome.return_address = RegisterValue(machine, static_cast<uint64_t>(rule.ra_offset), pc);
  } else {
    const bool is_after_fp = rule.ra_kind == ABI_RA_AFTER_FP;
    const int64_t offset = is_after_fp ? rule.fp_offset + 8 : rule.ra_offset;
    outcome.return_address = MemoryAt(plus(outcome.frame_address, offset));
  }
  return outcome;
}

Outcome OurOutcome(const object::FrameArchitecture& machine, std::span<const uint32_t> words,
                   uint64_t pc) {
  const auto row = object::LookupRow(words, pc);
  if (!row.has_value()) return Outcome{};
  if (row->kind == ABI_ROW_SPECIAL) return SpecialOutcome(machine, row->operand, pc);
  if (row->kind == ABI_ROW_RULE) return RuleOutcome(machine, *row->rule, pc);
  abi_rule rule{};
  rule.cfa_register =
      row->kind == ABI_ROW_SP ? machine.stack_pointer_column : machine.frame_pointer_column;
  if (machine.machine == object::Machine::kArm64) {
    rule.cfa_offset = static_cast<int32_t>(row->operand & ABI_ARM64_OPERAND_CFA_MASK) * 16;
    const uint32_t pair = row->operand >> ABI_ARM64_OPERAND_CFA_BITS & ABI_ARM64_OPERAND_PAIR_MASK;
    rule.fp_kind = pair == 0 ? ABI_FP_SAME : ABI_FP_AT_CFA;
    rule.fp_offset = -16 * static_cast<int32_t>(pair);
    rule.ra_kind = pair == 0 ? ABI_RA_REGISTER : ABI_RA_AFTER_FP;
    rule.ra_offset = machine.return_column;
    return RuleOutcome(machine, rule, pc);
  }
  rule.cfa_offset = static_cast<int32_t>(row->operand & ABI_OPERAND_CFA_MASK) * 8;
  const uint32_t saved = row->operand >> ABI_OPERAND_CFA_BITS & ABI_OPERAND_FP_MASK;
  rule.fp_kind = saved == 0 ? ABI_FP_SAME : ABI_FP_AT_CFA;
  rule.fp_offset = -8 * static_cast<int32_t>(saved);
  rule.ra_offset = -8;
  return RuleOutcome(machine, rule, pc);
}

// In what two outcomes differ.
std::string KindOf(const Outcome& ours, const Outcome& theirs) {
  constexpr const char* kNames[] = {"frame", "root", "signal", "none", "unsupported"};
  if (ours.kind != theirs.kind) {
    return std::string("ours ") + kNames[static_cast<int>(ours.kind)] + ", elfutils " +
           kNames[static_cast<int>(theirs.kind)];
  }
  std::string kind = "other";
  if (ours.frame_address != theirs.frame_address) kind += " frame address";
  if (ours.frame_pointer != theirs.frame_pointer) kind += " frame pointer";
  if (ours.return_address != theirs.return_address) kind += " return address";
  return kind;
}

void ComparePlace(const object::FrameArchitecture& machine, std::span<const uint32_t> words,
                  Dwarf_Frame* frame, uint64_t pc, TableComparison& comparison) {
  ++comparison.place_count;
  const Outcome ours = OurOutcome(machine, words, pc);
  if (ours.kind == Outcome::Kind::kUnsupported) {
    ++comparison.unsupported_count;
    return;
  }
  const Outcome theirs = OracleOutcome(machine, frame, pc);
  if (theirs.kind == Outcome::Kind::kNone) {
    ++comparison.unanswered_count;
    return;
  }
  if (ours == theirs) return;
  ++comparison.kinds[KindOf(ours, theirs)];
  if (comparison.difference_count++ != 0) return;
  std::ostringstream text;
  text << "at " << std::hex << pc << ": ours " << ours << ", elfutils " << theirs;
  comparison.first_difference = text.str();
}

}  // namespace

std::vector<uint64_t> FunctionStarts(const object::ElfFile& elf, const base::ByteSource& source) {
  std::vector<uint64_t> starts;
  if (!elf.eh_frame_header().has_value()) return starts;
  const uint64_t vaddr = elf.eh_frame_header()->vaddr;
  const auto offset = elf.FileOffsetOf(vaddr);
  if (!offset.has_value()) return starts;
  const auto bytes = source.Read(*offset, elf.eh_frame_header()->size_bytes);
  if (!bytes.ok()) return starts;
  base::ByteReader reader(*bytes);
  reader.Skip(8);
  const auto count = reader.Read<uint32_t>();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    starts.push_back(vaddr + static_cast<uint64_t>(int64_t{reader.Read<int32_t>()}));
    reader.Read<int32_t>();
  }
  return starts;
}

void VisitRules(Elf* elf_of_oracle, const std::vector<uint64_t>& function_starts, size_t stride,
                const PlaceVisitor& visit) {
  Dwarf_CFI* const cfi = dwarf_getcfi_elf(elf_of_oracle);
  if (cfi == nullptr) return;
  for (size_t i = 0; i < function_starts.size(); i += stride) {
    const uint64_t start_vaddr = function_starts[i];
    const uint64_t function_end =
        i + 1 < function_starts.size() ? function_starts[i + 1] : start_vaddr + (1 << 20);
    uint64_t pc = start_vaddr;
    while (pc < function_end) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0) break;
      Dwarf_Addr start = 0;
      Dwarf_Addr end = 0;
      dwarf_frame_info(frame, &start, &end, nullptr);
      end = std::min<uint64_t>(end, function_end);
      if (end > pc) {
        for (const uint64_t place : {pc, pc + (end - pc) / 2, end - 1}) visit(frame, place);
      }
      std::free(frame);
      if (end <= pc) break;
      pc = end;
    }
  }
  dwarf_cfi_end(cfi);
}

TableComparison CompareTable(Elf* elf_of_oracle, const object::ElfFile& elf,
                             const base::ByteSource& source, std::span<const uint32_t> words,
                             size_t stride) {
  TableComparison comparison;
  const object::FrameArchitecture machine = object::FrameArchitectureOf(elf.machine()).value();
  VisitRules(elf_of_oracle, FunctionStarts(elf, source), stride,
             [&](Dwarf_Frame* frame, uint64_t pc) {
               ComparePlace(machine, words, frame, pc, comparison);
             });
  return comparison;
}

}  // namespace vesta::test
