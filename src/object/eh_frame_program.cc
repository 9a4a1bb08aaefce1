#include "src/object/eh_frame_program.h"

#include <algorithm>

// Source: DWARF 5 section 6.4.2 (instructions), GNU extensions as binutils and gcc emit them.
namespace vesta::object {
namespace {

enum Opcode : uint8_t {
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kAdvanceLoc8 = 0x1d,
  // arm64: return addresses are signed from here on, or no longer. Walkers take the signature off
  // whether it is there or not. The first one is of gcc 15 and LLVM 20.
  kNegateReturnStateWithPc = 0x2c,
  kNegateReturnState = 0x2d,  // elsewhere DW_CFA_GNU_window_save
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
  // The upper two bits, with an operand in the lower six.
  kAdvanceLoc = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
};

// Compilers nest one or two deep.
constexpr size_t kRememberedMax = 64;

// Offsets of foreign bytes wrap instead of overflowing; what is absurd is refused by the table.
int64_t Multiply(uint64_t a, int64_t b) {
  return static_cast<int64_t>(a * static_cast<uint64_t>(b));
}

}  // namespace

template <typename Rules>
void BasicFrameProgram<Rules>::Start(const CommonEntry& common, const Rules& initial,
                                     const FrameEntry& entry, const FrameSection& section) {
  reader_ = base::ByteReader(entry.instructions);
  common_ = &common;
  initial_ = &initial;
  section_ = section;
  instructions_offset_ = static_cast<size_t>(entry.instructions.data() - section.bytes.data());
  rules_ = initial;
  remembered_.clear();
  start_vaddr_ = end_vaddr_ = location_vaddr_ = entry.start_vaddr;
  entry_end_vaddr_ = entry.end_vaddr;
  is_first_ = true;
  damaged_ = false;
}

template <typename Rules>
bool BasicFrameProgram<Rules>::Next() {
  if (damaged_ || end_vaddr_ >= entry_end_vaddr_) return false;
  start_vaddr_ = end_vaddr_;
  rules_changed_ = is_first_;
  is_first_ = false;
  // Runs up to the instruction that moves on: what comes after it holds for the next stretch.
  while (location_vaddr_ == start_vaddr_ && !reader_.AtEnd()) {
    Execute(reader_.Read<uint8_t>());
    if (damaged_) return false;
  }
  const bool is_last = location_vaddr_ == start_vaddr_;
  end_vaddr_ = is_last ? entry_end_vaddr_ : std::min(location_vaddr_, entry_end_vaddr_);
  return true;
}

template <typename Rules>
std::optional<Rules> BasicFrameProgram<Rules>::InitialRules(const FrameArchitecture& architecture,
                                                            const CommonEntry& common,
                                                            const FrameSection& section) {
  BasicFrameProgram program(architecture);
  program.Start(common, Rules{}, FrameEntry{0, 1, 0, common.instructions}, section);
  program.initial_ = nullptr;
  while (!program.damaged_ && !program.reader_.AtEnd()) {
    program.Execute(program.reader_.template Read<uint8_t>());
  }
  if (program.damaged_ || program.location_vaddr_ != 0) return std::nullopt;
  return program.rules_;
}

template <typename Rules>
void BasicFrameProgram<Rules>::Execute(uint8_t opcode) {
  const uint8_t operand = opcode & 0x3f;
  switch (opcode & 0xc0) {
    case kAdvanceLoc:
      Advance(operand);
      break;
    case kOffset:
      SetFactoredRule(operand, RegisterRule::Kind::kAtOffset, reader_.ReadUleb128());
      break;
    case kRestore:
      Restore(operand);
      break;
    default:
      ExecuteExtended(opcode);
      break;
  }
  if (!reader_.ok()) Damage();
}

template <typename Rules>
void BasicFrameProgram<Rules>::ExecuteExtended(uint8_t opcode) {
  using Kind = RegisterRule::Kind;
  uint64_t column = 0;
  switch (opcode) {
    case kNop:
    case kNegateReturnState:
      break;
    case kNegateReturnStateWithPc:
      if (architecture_.machine != Machine::kArm64) Damage();
      break;
    case kGnuArgsSize:
      reader_.ReadUleb128();
      break;
    case kSetLoc:
      SetLocation();
      break;
    case kAdvanceLoc1:
      Advance(reader_.Read<uint8_t>());
      break;
    case kAdvanceLoc2:
      Advance(reader_.Read<uint16_t>());
      break;
    case kAdvanceLoc4:
      Advance(reader_.Read<uint32_t>());
      break;
    case kAdvanceLoc8:
      Advance(reader_.Read<uint64_t>());
      break;
    case kDefCfa:
      column = reader_.ReadUleb128();
      DefineFrameAddress(column, static_cast<int64_t>(reader_.ReadUleb128()));
      break;
    case kDefCfaSf:
      column = reader_.ReadUleb128();
      DefineFrameAddress(
          column, Multiply(static_cast<uint64_t>(reader_.ReadSleb128()), common_->data_alignment));
      break;
    case kDefCfaRegister:
      SetFrameRegister(reader_.ReadUleb128());
      break;
    case kDefCfaOffset:
      SetFrameOffset(static_cast<int64_t>(reader_.ReadUleb128()));
      break;
    case kDefCfaOffsetSf:
      SetFrameOffset(
          Multiply(static_cast<uint64_t>(reader_.ReadSleb128()), common_->data_alignment));
      break;
    case kDefCfaExpression:
      rules_.frame_address.is_set = true;
      rules_.frame_address.expression = ReadBlock();
      rules_changed_ = true;
      if (rules_.frame_address.expression.empty()) Damage();
      break;
    case kOffsetExtended:
      column = reader_.ReadUleb128();
      SetFactoredRule(column, Kind::kAtOffset, reader_.ReadUleb128());
      break;
    case kOffsetExtendedSf:
      column = reader_.ReadUleb128();
      SetFactoredRule(column, Kind::kAtOffset, static_cast<uint64_t>(reader_.ReadSleb128()));
      break;
    case kGnuNegativeOffsetExtended:
      column = reader_.ReadUleb128();
      SetFactoredRule(column, Kind::kAtOffset, 0 - reader_.ReadUleb128());
      break;
    case kValOffset:
      column = reader_.ReadUleb128();
      SetFactoredRule(column, Kind::kIsOffset, reader_.ReadUleb128());
      break;
    case kValOffsetSf:
      column = reader_.ReadUleb128();
      SetFactoredRule(column, Kind::kIsOffset, static_cast<uint64_t>(reader_.ReadSleb128()));
      break;
    case kExpression:
      column = reader_.ReadUleb128();
      SetExpressionRule(column, Kind::kAtExpression);
      break;
    case kValExpression:
      column = reader_.ReadUleb128();
      SetExpressionRule(column, Kind::kIsExpression);
      break;
    case kRegister:
      column = reader_.ReadUleb128();
      SetRule(column, {Kind::kRegister, static_cast<int64_t>(reader_.ReadUleb128()), {}});
      break;
    case kUndefined:
      SetRule(reader_.ReadUleb128(), {Kind::kUndefined, 0, {}});
      break;
    case kSameValue:
      SetRule(reader_.ReadUleb128(), {Kind::kSame, 0, {}});
      break;
    case kRestoreExtended:
      Restore(reader_.ReadUleb128());
      break;
    case kRememberState:
      RememberState();
      break;
    case kRestoreState:
      RestoreState();
      break;
    default:
      Damage();
      break;
  }
}

template <typename Rules>
void BasicFrameProgram<Rules>::DefineFrameAddress(uint64_t register_column, int64_t offset) {
  rules_.frame_address = FrameAddressRule{true, register_column, offset, {}};
  rules_changed_ = true;
}

// Changing one half needs the other one. Hand-written code names a register after an expression and
// means the offset from before it, as the C++ runtime does.
template <typename Rules>
void BasicFrameProgram<Rules>::SetFrameRegister(uint64_t register_column) {
  FrameAddressRule& rule = rules_.frame_address;
  if (!rule.is_set) return Damage();
  rule.register_column = register_column;
  rule.expression = {};
  rules_changed_ = true;
}

template <typename Rules>
void BasicFrameProgram<Rules>::SetFrameOffset(int64_t offset) {
  if (!rules_.frame_address.is_set) return Damage();
  rules_.frame_address.offset = offset;
  rules_changed_ = true;
}

template <typename Rules>
void BasicFrameProgram<Rules>::SetRule(uint64_t column, const RegisterRule& rule) {
  RegisterRule* const target = Rules::Find(rules_, architecture_, common_->return_column, column);
  if (target == nullptr) return;
  *target = rule;
  rules_changed_ = true;
}

template <typename Rules>
void BasicFrameProgram<Rules>::SetFactoredRule(uint64_t column, RegisterRule::Kind kind,
                                               uint64_t factor) {
  SetRule(column, {kind, Multiply(factor, common_->data_alignment), {}});
}

template <typename Rules>
void BasicFrameProgram<Rules>::SetExpressionRule(uint64_t column, RegisterRule::Kind kind) {
  const auto expression = ReadBlock();
  if (expression.empty()) return Damage();
  SetRule(column, {kind, 0, expression});
}

template <typename Rules>
void BasicFrameProgram<Rules>::Restore(uint64_t column) {
  if (initial_ == nullptr) return Damage();
  const RegisterRule* const rule =
      Rules::Find(*initial_, architecture_, common_->return_column, column);
  if (rule != nullptr) SetRule(column, *rule);
}

template <typename Rules>
void BasicFrameProgram<Rules>::RememberState() {
  if (remembered_.size() >= kRememberedMax) return Damage();
  remembered_.push_back(rules_);
}

template <typename Rules>
void BasicFrameProgram<Rules>::RestoreState() {
  if (remembered_.empty()) return Damage();
  rules_ = remembered_.back();
  remembered_.pop_back();
  rules_changed_ = true;
}

template <typename Rules>
void BasicFrameProgram<Rules>::Advance(uint64_t count) {
  const uint64_t location = location_vaddr_ + count * common_->code_alignment;
  if (location < location_vaddr_) return Damage();
  location_vaddr_ = location;
}

template <typename Rules>
void BasicFrameProgram<Rules>::SetLocation() {
  size_t position = instructions_offset_ + reader_.position();
  const auto pointer =
      ReadEncodedPointer(section_.bytes, position, section_.vaddr, common_->pointer_encoding);
  if (!pointer.has_value() || pointer->is_indirect || pointer->value < location_vaddr_) {
    return Damage();
  }
  location_vaddr_ = pointer->value;
  reader_.Seek(position - instructions_offset_);
}

template <typename Rules>
std::span<const std::byte> BasicFrameProgram<Rules>::ReadBlock() {
  const uint64_t size = reader_.ReadUleb128();
  if (size > reader_.remaining()) {
    reader_.Fail();
    return {};
  }
  return reader_.ReadBytes(static_cast<size_t>(size));
}

template class BasicFrameProgram<FrameRules>;
template class BasicFrameProgram<RegisterRules>;

}  // namespace vesta::object
