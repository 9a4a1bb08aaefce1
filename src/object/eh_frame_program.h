// The machine that runs the instructions of call frame information and tells, for each stretch of
// code, how the frame address, the frame pointer and the return address are found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/base/byte_reader.h"
#include "src/object/eh_frame.h"
#include "src/object/frame_architecture.h"

namespace vesta::object {

// Where the caller's value of one register is.
struct RegisterRule {
  enum class Kind : uint8_t {
    kUnspecified,   // no instruction said anything
    kUndefined,     // cannot be had; for the return address: there is no caller
    kSame,          // was not changed
    kAtOffset,      // in memory at CFA + value
    kIsOffset,      // is CFA + value
    kRegister,      // in register number value
    kAtExpression,  // in memory at the expression's result
    kIsExpression,  // is the expression's result
  };
  Kind kind = Kind::kUnspecified;
  int64_t value = 0;
  std::span<const std::byte> expression;
};

// The canonical frame address: an expression, or when that is empty a register plus an offset.
struct FrameAddressRule {
  bool is_set = false;
  uint64_t register_column = 0;
  int64_t offset = 0;
  std::span<const std::byte> expression;
};

// Rules of the columns that the unwind table holds.
struct FrameRules {
  FrameAddressRule frame_address;
  RegisterRule frame_pointer;
  RegisterRule return_address;

  // The rule of a column; null for one that is not followed. Self is FrameRules or const
  // FrameRules.
  template <typename Self>
  static auto Find(Self& self, const FrameArchitecture& architecture, uint64_t return_column,
                   uint64_t column) -> decltype(&self.frame_pointer) {
    if (column == architecture.frame_pointer_column) return &self.frame_pointer;
    if (column == return_column) return &self.return_address;
    return nullptr;
  }
};

// Rules of all general registers.
struct RegisterRules {
  static constexpr size_t kColumnCount = 33;  // x86-64 needs 17, arm64 32
  FrameAddressRule frame_address;
  std::array<RegisterRule, kColumnCount> columns;

  template <typename Self>
  static auto Find(Self& self, const FrameArchitecture&, uint64_t, uint64_t column)
      -> decltype(&self.columns[0]) {
    return column < kColumnCount ? &self.columns[static_cast<size_t>(column)] : nullptr;
  }
};

// One run over the instructions of an entry, a stretch of code at a time:
//   while (program.Next()) use(program.start_vaddr(), program.end_vaddr(), program.rules());
//   if (program.damaged()) the entry cannot be trusted
// Shape: stretches are ascending, not empty, without gaps, and cover the entry's range exactly,
//        unless it is damaged.
// Cost:  no allocation but the stack of remembered rules, which Start() reuses.
// Owner: one thread; the bytes of the entry outlive the run.
// Rules is FrameRules or RegisterRules.
template <typename Rules>
class BasicFrameProgram {
 public:
  explicit BasicFrameProgram(const FrameArchitecture& architecture) : architecture_(architecture) {}

  // initial: the rules after the common entry's instructions.
  void Start(const CommonEntry& common, const Rules& initial, const FrameEntry& entry,
             const FrameSection& section);
  bool Next();

  uint64_t start_vaddr() const { return start_vaddr_; }
  uint64_t end_vaddr() const { return end_vaddr_; }
  const Rules& rules() const { return rules_; }
  // False when the rules are those of the stretch before; never on the first stretch.
  bool rules_changed() const { return rules_changed_; }
  bool damaged() const { return damaged_; }

  // The rules after the instructions of a common entry; empty when those are damaged.
  static std::optional<Rules> InitialRules(const FrameArchitecture& architecture,
                                           const CommonEntry& common, const FrameSection& section);

 private:
  void Execute(uint8_t opcode);
  void ExecuteExtended(uint8_t opcode);
  void DefineFrameAddress(uint64_t register_column, int64_t offset);
  void SetFrameRegister(uint64_t register_column);
  void SetFrameOffset(int64_t offset);
  void SetRule(uint64_t column, const RegisterRule& rule);
  void SetFactoredRule(uint64_t column, RegisterRule::Kind kind, uint64_t factor);
  void SetExpressionRule(uint64_t column, RegisterRule::Kind kind);
  void Restore(uint64_t column);
  void RememberState();
  void RestoreState();
  void Advance(uint64_t count);
  void SetLocation();
  std::span<const std::byte> ReadBlock();
  void Damage() { damaged_ = true; }

  FrameArchitecture architecture_;
  base::ByteReader reader_{{}};
  const CommonEntry* common_ = nullptr;
  const Rules* initial_ = nullptr;  // null while the common entry itself runs
  FrameSection section_;
  size_t instructions_offset_ = 0;  // in the section
  Rules rules_;
  std::vector<Rules> remembered_;
  uint64_t start_vaddr_ = 0;
  uint64_t end_vaddr_ = 0;
  uint64_t location_vaddr_ = 0;
  uint64_t entry_end_vaddr_ = 0;
  bool is_first_ = false;
  bool rules_changed_ = false;
  bool damaged_ = false;
};

using FrameProgram = BasicFrameProgram<FrameRules>;
using RegisterProgram = BasicFrameProgram<RegisterRules>;

}  // namespace vesta::object
