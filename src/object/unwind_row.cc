#include "src/object/unwind_row.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "src/base/byte_reader.h"

namespace vesta::object {
namespace {

constexpr int64_t kWordBytes = 8;
constexpr size_t kRulesMax = 1 << 16;  // real images have some hundred at most
static_assert(kRulesMax <= ABI_OPERAND_MAX);
constexpr uint32_t kUnsupported = SpecialRowBits(ABI_SPECIAL_UNSUPPORTED);

// Source: DWARF 5 section 7.7.1.
enum Operation : uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConstU = 0x10,
  kConstS = 0x11,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShiftLeft = 0x24,
  kGreaterOrEqual = 0x2a,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
};

template <typename T>
bool Fits(int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

// An expression of the shape register + offset, or *(register + offset) + extra.
struct SimpleExpression {
  uint64_t register_column = 0;
  int64_t offset = 0;
  bool dereferenced = false;
  int64_t extra = 0;
};

// The constant that an operation pushes; empty for any other operation.
std::optional<int64_t> ReadConstant(base::ByteReader& reader, uint8_t operation) {
  if (operation >= kLit0 && operation <= kLit31) return operation - kLit0;
  switch (operation) {
    case kConst1u:
      return reader.Read<uint8_t>();
    case kConst1s:
      return reader.Read<int8_t>();
    case kConst2u:
      return reader.Read<uint16_t>();
    case kConst2s:
      return reader.Read<int16_t>();
    case kConst4u:
      return reader.Read<uint32_t>();
    case kConst4s:
      return reader.Read<int32_t>();
    case kConstU:
      return static_cast<int64_t>(reader.ReadUleb128());
    case kConstS:
      return reader.ReadSleb128();
    default:
      return std::nullopt;
  }
}

// Empty when the result cannot be held by a rule anyway, so that sums here never overflow.
bool AddTo(int64_t& sum, int64_t value) {
  if (!Fits<int32_t>(value) || !Fits<int32_t>(sum + value)) return false;
  sum += value;
  return true;
}

std::optional<SimpleExpression> ReadSimpleExpression(std::span<const std::byte> expression) {
  base::ByteReader reader(expression);
  SimpleExpression simple;
  const auto first = reader.Read<uint8_t>();
  if (first >= kBreg0 && first <= kBreg31) {
    simple.register_column = first - kBreg0;
  } else if (first == kBregx) {
    simple.register_column = reader.ReadUleb128();
  } else {
    return std::nullopt;
  }
  if (!AddTo(simple.offset, reader.ReadSleb128())) return std::nullopt;
  while (reader.ok() && !reader.AtEnd()) {
    int64_t& sum = simple.dereferenced ? simple.extra : simple.offset;
    const auto operation = reader.Read<uint8_t>();
    if (operation == kDeref && !simple.dereferenced) {
      simple.dereferenced = true;
    } else if (operation == kPlusUconst) {
      if (!AddTo(sum, static_cast<int64_t>(reader.ReadUleb128()))) return std::nullopt;
    } else if (const auto constant = ReadConstant(reader, operation)) {
      const auto next = reader.Read<uint8_t>();
      if (!Fits<int32_t>(*constant) || (next != kPlus && next != kMinus)) return std::nullopt;
      if (!AddTo(sum, next == kPlus ? *constant : -*constant)) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (!reader.ok()) return std::nullopt;
  return simple;
}

// The expression that x86-64 linkers write for PLT stubs, CFA = sp + 8 + ((pc & 15) >= n) * 8;
// gives n.
std::optional<uint32_t> ReadPltExpression(const FrameArchitecture& architecture,
                                          std::span<const std::byte> expression) {
  if (architecture.machine != Machine::kX86_64) return std::nullopt;
  base::ByteReader reader(expression);
  const auto is_next = [&](uint8_t operation) { return reader.Read<uint8_t>() == operation; };
  const auto is_register = [&](uint8_t column, int64_t offset) {
    return is_next(static_cast<uint8_t>(kBreg0 + column)) && reader.ReadSleb128() == offset;
  };
  if (!is_register(architecture.stack_pointer_column, 8)) return std::nullopt;
  if (!is_register(architecture.return_column, 0)) return std::nullopt;
  if (!is_next(kLit0 + 15) || !is_next(kAnd)) return std::nullopt;
  const auto literal = reader.Read<uint8_t>();
  if (literal < kLit0 || literal > kLit0 + 15) return std::nullopt;
  if (!is_next(kGreaterOrEqual) || !is_next(kLit0 + 3) || !is_next(kShiftLeft) || !is_next(kPlus) ||
      !reader.AtEnd()) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(literal - kLit0);
}

// Operand for the return address at CFA - 8; empty when the rule does not fit.
std::optional<uint32_t> OperandOfX86_64(const abi_rule& rule) {
  if (rule.ra_kind != ABI_RA_AT_CFA || rule.ra_offset != -kWordBytes) return std::nullopt;
  if (rule.cfa_offset < 0 || rule.cfa_offset % kWordBytes != 0 ||
      rule.cfa_offset / kWordBytes > ABI_OPERAND_CFA_MASK) {
    return std::nullopt;
  }
  uint32_t saved = 0;
  if (rule.fp_kind == ABI_FP_AT_CFA) {
    if (rule.fp_offset >= 0 || rule.fp_offset % kWordBytes != 0 ||
        -(rule.fp_offset / kWordBytes) > ABI_OPERAND_FP_MASK) {
      return std::nullopt;
    }
    saved = static_cast<uint32_t>(-(rule.fp_offset / kWordBytes));
  } else if (rule.fp_kind != ABI_FP_SAME) {
    return std::nullopt;
  }
  const auto words = static_cast<uint32_t>(rule.cfa_offset / kWordBytes);
  return words | saved << ABI_OPERAND_CFA_BITS;
}

// Operand for the frame pointer and the return address side by side, or both still in registers.
std::optional<uint32_t> OperandOfArm64(const abi_rule& rule) {
  constexpr int32_t kUnitBytes = 16;
  if (rule.cfa_offset < 0 || rule.cfa_offset % kUnitBytes != 0 ||
      rule.cfa_offset / kUnitBytes > ABI_ARM64_OPERAND_CFA_MASK) {
    return std::nullopt;
  }
  const auto units = static_cast<uint32_t>(rule.cfa_offset / kUnitBytes);
  if (rule.fp_kind == ABI_FP_SAME && rule.ra_kind == ABI_RA_REGISTER &&
      rule.ra_offset == kArm64Frames.return_column) {
    return units;
  }
  if (rule.fp_kind != ABI_FP_AT_CFA || rule.ra_kind != ABI_RA_AT_CFA ||
      rule.ra_offset != rule.fp_offset + kWordBytes || rule.fp_offset >= 0 ||
      rule.fp_offset % kUnitBytes != 0 ||
      -(rule.fp_offset / kUnitBytes) > ABI_ARM64_OPERAND_PAIR_MASK) {
    return std::nullopt;
  }
  const auto saved = static_cast<uint32_t>(-(rule.fp_offset / kUnitBytes));
  return units | saved << ABI_ARM64_OPERAND_CFA_BITS;
}

// A row for a CFA that counts from the stack or frame pointer; empty when the rule does not fit.
std::optional<uint32_t> InlineRow(const FrameArchitecture& architecture, const abi_rule& rule) {
  const bool is_sp = rule.cfa_register == architecture.stack_pointer_column;
  if (rule.cfa_kind != ABI_CFA_REGISTER ||
      (!is_sp && rule.cfa_register != architecture.frame_pointer_column)) {
    return std::nullopt;
  }
  const auto operand =
      architecture.machine == Machine::kArm64 ? OperandOfArm64(rule) : OperandOfX86_64(rule);
  if (!operand.has_value()) return std::nullopt;
  return RowBits(is_sp ? ABI_ROW_SP : ABI_ROW_FP, *operand);
}

bool EncodeFrameAddress(const FrameArchitecture& architecture, const FrameAddressRule& from,
                        abi_rule& rule) {
  SimpleExpression simple{from.register_column, from.offset, false, 0};
  if (!from.expression.empty()) {
    const auto read = ReadSimpleExpression(from.expression);
    if (!read.has_value()) return false;
    simple = *read;
  }
  if (simple.register_column >= architecture.register_count || !Fits<int32_t>(simple.offset) ||
      !Fits<int16_t>(simple.extra)) {
    return false;
  }
  rule.cfa_kind = simple.dereferenced ? ABI_CFA_DEREF : ABI_CFA_REGISTER;
  rule.cfa_register = static_cast<uint8_t>(simple.register_column);
  rule.cfa_offset = static_cast<int32_t>(simple.offset);
  rule.extra = static_cast<int16_t>(simple.extra);
  return true;
}

// Where a value in memory at an expression lies from the CFA, when that is known.
std::optional<int64_t> OffsetFromFrameAddress(const SimpleExpression& place, const abi_rule& rule) {
  if (place.dereferenced || rule.cfa_kind != ABI_CFA_REGISTER ||
      place.register_column != rule.cfa_register) {
    return std::nullopt;
  }
  return place.offset - rule.cfa_offset;
}

bool EncodeFramePointer(const FrameArchitecture& architecture, const RegisterRule& from,
                        abi_rule& rule) {
  using Kind = RegisterRule::Kind;
  int64_t offset = 0;
  switch (from.kind) {
    case Kind::kUnspecified:  // callee-saved
    case Kind::kSame:
    case Kind::kUndefined:  // the caller does not need it: any value will do
      rule.fp_kind = ABI_FP_SAME;
      return true;
    case Kind::kAtOffset:
      rule.fp_kind = ABI_FP_AT_CFA;
      offset = from.value;
      break;
    case Kind::kAtExpression: {
      const auto place = ReadSimpleExpression(from.expression);
      if (!place.has_value() || place->dereferenced) return false;
      if (const auto from_cfa = OffsetFromFrameAddress(*place, rule)) {
        rule.fp_kind = ABI_FP_AT_CFA;
        offset = *from_cfa;
      } else if (place->register_column == architecture.frame_pointer_column) {
        rule.fp_kind = ABI_FP_AT_FP;
        offset = place->offset;
      } else {
        return false;
      }
      break;
    }
    default:
      return false;
  }
  if (!Fits<int32_t>(offset)) return false;
  rule.fp_offset = static_cast<int32_t>(offset);
  return true;
}

bool EncodeReturnAddress(const FrameArchitecture& architecture, const RegisterRule& from,
                         abi_rule& rule) {
  using Kind = RegisterRule::Kind;
  int64_t offset = 0;
  rule.ra_kind = ABI_RA_AT_CFA;
  if (from.kind == Kind::kAtOffset) {
    offset = from.value;
  } else if (from.kind == Kind::kRegister) {
    if (from.value < 0 || from.value >= architecture.register_count) return false;
    rule.ra_kind = ABI_RA_REGISTER;
    offset = from.value;
  } else if ((from.kind == Kind::kUnspecified || from.kind == Kind::kSame) &&
             architecture.has_link_register) {
    rule.ra_kind = ABI_RA_REGISTER;
    offset = architecture.return_column;
  } else if (from.kind == Kind::kAtExpression) {
    const auto place = ReadSimpleExpression(from.expression);
    if (!place.has_value()) return false;
    const auto from_cfa = OffsetFromFrameAddress(*place, rule);
    if (!from_cfa.has_value()) return false;
    offset = *from_cfa;
  } else {
    return false;
  }
  // A large frame with the pair at its bottom.
  if (architecture.has_link_register && !Fits<int16_t>(offset) && rule.fp_kind == ABI_FP_AT_CFA &&
      offset == rule.fp_offset + kWordBytes) {
    rule.ra_kind = ABI_RA_AFTER_FP;
    return true;
  }
  if (!Fits<int16_t>(offset)) return false;
  rule.ra_offset = static_cast<int16_t>(offset);
  return true;
}

}  // namespace

uint32_t RowEncoder::Encode(const FrameRules& rules) {
  if (rules.return_address.kind == RegisterRule::Kind::kUndefined) {
    return SpecialRowBits(ABI_SPECIAL_ROOT);
  }
  if (!rules.frame_address.is_set) return kUnsupported;
  abi_rule rule{};
  if (!rules.frame_address.expression.empty()) {
    if (const auto step = ReadPltExpression(architecture_, rules.frame_address.expression)) {
      const bool is_plain = rules.return_address.kind == RegisterRule::Kind::kAtOffset &&
                            rules.return_address.value == -kWordBytes &&
                            EncodeFramePointer(architecture_, rules.frame_pointer, rule) &&
                            rule.fp_kind == ABI_FP_SAME;
      if (!is_plain) return kUnsupported;
      return SpecialRowBits(ABI_SPECIAL_PLT | *step << ABI_SPECIAL_PLT_SHIFT);
    }
  }
  if (!EncodeFrameAddress(architecture_, rules.frame_address, rule) ||
      !EncodeFramePointer(architecture_, rules.frame_pointer, rule) ||
      !EncodeReturnAddress(architecture_, rules.return_address, rule)) {
    return kUnsupported;
  }
  if (const auto row = InlineRow(architecture_, rule)) return *row;
  return EncodeRule(rule);
}

uint32_t RowEncoder::EncodeRule(const abi_rule& rule) {
  const RuleKey key{rule.cfa_kind,   rule.cfa_register, rule.fp_kind, rule.ra_kind,
                    rule.cfa_offset, rule.fp_offset,    rule.extra,   rule.ra_offset};
  const auto found = number_of_rule_.find(key);
  if (found != number_of_rule_.end()) return RowBits(ABI_ROW_RULE, found->second);
  if (rules_.size() >= kRulesMax) return kUnsupported;
  const auto number = static_cast<uint32_t>(rules_.size());
  rules_.push_back(rule);
  number_of_rule_.emplace(key, number);
  return RowBits(ABI_ROW_RULE, number);
}

RowWriter::RowWriter(uint64_t first_vaddr, uint64_t end_vaddr, size_t expected_row_count,
                     std::vector<RowRange> overrides)
    : first_page_(first_vaddr >> ABI_TABLE_PAGE_SHIFT),
      page_count_(static_cast<size_t>((end_vaddr >> ABI_TABLE_PAGE_SHIFT) - first_page_) + 1),
      rows_word_(sizeof(abi_table_header) / sizeof(uint32_t) + page_count_ + 1),
      overrides_(std::move(overrides)) {
  words_.reserve(rows_word_ + expected_row_count);
  words_.resize(rows_word_);
  at_.word_count = rows_word_;
  at_.last_bits = at_.base_bits = SpecialRowBits(ABI_SPECIAL_NONE);
}

void RowWriter::SetRow(uint64_t vaddr, uint32_t row_bits) {
  ApplyOverridesUpTo(vaddr);
  at_.base_bits = row_bits;
  if (!at_.is_overridden) Put(vaddr, row_bits);
}

void RowWriter::ApplyOverridesUpTo(uint64_t vaddr) {
  while (at_.override_next < overrides_.size()) {
    const RowRange& range = overrides_[at_.override_next];
    if (at_.is_overridden) {
      if (range.end_vaddr > vaddr) return;
      at_.is_overridden = false;
      ++at_.override_next;
      Put(range.end_vaddr, at_.base_bits);
    } else {
      if (range.start_vaddr > vaddr) return;
      at_.is_overridden = true;
      Put(range.start_vaddr, range.row_bits);
    }
  }
}

// The last row waits until a later address comes: one for the same address replaces it.
void RowWriter::Put(uint64_t vaddr, uint32_t row_bits) {
  if (at_.is_pending && at_.pending_vaddr != vaddr) Commit();
  at_.is_pending = true;
  at_.pending_vaddr = vaddr;
  at_.pending_bits = row_bits;
}

void RowWriter::Commit() {
  at_.is_pending = false;
  if (at_.pending_bits == at_.last_bits) return;
  at_.last_bits = at_.pending_bits;
  if (at_.pending_bits == kUnsupported) ++at_.unsupported_row_count;
  const auto page = static_cast<size_t>((at_.pending_vaddr >> ABI_TABLE_PAGE_SHIFT) - first_page_);
  const auto row_number = static_cast<uint32_t>(row_count());
  for (; at_.page_next <= page; ++at_.page_next) {
    words_[sizeof(abi_table_header) / sizeof(uint32_t) + at_.page_next] = row_number;
  }
  constexpr uint32_t kAddressMask = (1u << ABI_ROW_ADDRESS_BITS) - 1;
  words_.push_back((static_cast<uint32_t>(at_.pending_vaddr) & kAddressMask) | at_.pending_bits);
  ++at_.word_count;
}

void RowWriter::Rewind(const Mark& mark) {
  at_ = mark;
  words_.resize(at_.word_count);
}

std::vector<uint32_t> RowWriter::Finish(std::span<const abi_rule> rules) {
  ApplyOverridesUpTo(std::numeric_limits<uint64_t>::max());
  if (at_.is_pending) Commit();
  if (row_count() == 0) return {};
  abi_table_header header{};
  header.magic = ABI_TABLE_MAGIC;
  header.first_page = static_cast<uint32_t>(first_page_);
  header.page_count = static_cast<uint32_t>(page_count_);
  header.index_word = sizeof(abi_table_header) / sizeof(uint32_t);
  header.rows_word = static_cast<uint32_t>(rows_word_);
  header.row_count = static_cast<uint32_t>(row_count());
  header.rules_word = static_cast<uint32_t>(words_.size());
  header.rule_count = static_cast<uint32_t>(rules.size());
  for (; at_.page_next <= page_count_; ++at_.page_next) {
    words_[header.index_word + at_.page_next] = header.row_count;
  }
  const size_t used = words_.size() + rules.size() * ABI_RULE_WORDS;
  constexpr size_t kBlock = ABI_TABLE_BLOCK_WORDS;
  words_.resize((used + kBlock - 1) / kBlock * kBlock);
  if (!rules.empty()) {
    std::memcpy(words_.data() + header.rules_word, rules.data(), rules.size_bytes());
  }
  std::memcpy(words_.data(), &header, sizeof(header));
  return std::move(words_);
}

}  // namespace vesta::object
