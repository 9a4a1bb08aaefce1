#include "src/dwarf/scope_walk.h"

#include "src/dwarf/range_list.h"

namespace vesta::dwarf {

namespace {

// Inside a function that the linker removed; nothing inlined there has code.
constexpr uint32_t kRemovedScope = kNone - 1;

}  // namespace

ScopeWalk::Outcome ScopeWalk::Run() {
  if (!unit_.has_children()) return Outcome::kWhole;
  const AbbreviationTable& abbreviations = unit_.abbreviations();
  base::ByteReader reader = unit_.ReaderAt(unit_.children());
  EntryValues values;
  uint32_t scope = kNone;  // around the next entry
  open_.assign(1, kNone);
  // Some producers leave the last ends of lists out.
  while (!reader.AtEnd()) {
    const uint64_t offset = reader.position();
    const uint64_t code = reader.ReadUleb128();
    if (code == 0) {
      if (!reader.ok()) return Outcome::kDamaged;
      scope = open_.back();
      open_.pop_back();
      if (open_.empty()) break;
      continue;
    }
    const Abbreviation* abbreviation = abbreviations.Find(code);
    if (abbreviation == nullptr) return Outcome::kDamaged;
    abbreviations.ReadEntry(reader, *abbreviation, values);
    if (!reader.ok()) return Outcome::kDamaged;
    if (out_.scopes.size() >= kScopesMax || out_.ranges.size() >= kRangesMax) {
      return Outcome::kCutByLimit;
    }
    uint32_t inner = scope;
    if (abbreviation->kind == EntryKind::kFunction) {
      inner = EnterFunction(offset, values);
    } else if (abbreviation->kind == EntryKind::kInlined) {
      inner = EnterInlined(offset, values, scope, abbreviation->has_children);
    }
    if (!abbreviation->has_children) continue;
    if (values.Has(Slot::kSibling)) {
      const auto sibling = unit_.Reference(values[Slot::kSibling]);
      if (!sibling || sibling->sections != &unit_.sections() ||
          sibling->offset < reader.position() || sibling->offset > unit_.header().end) {
        return Outcome::kDamaged;
      }
      reader.Seek(sibling->offset);
      continue;
    }
    if (open_.size() == kDepthMax) return Outcome::kCutByLimit;
    open_.push_back(scope);
    scope = inner;
  }
  return ranges_cut_ ? Outcome::kCutByLimit : Outcome::kWhole;
}

uint32_t ScopeWalk::EnterFunction(uint64_t offset, const EntryValues& values) {
  const size_t first_range = out_.ranges.size();
  const Code code = AppendRanges(values);
  if (code == Code::kUnsaid) return kNone;
  if (code == Code::kRemoved) return kRemovedScope;
  AddScope(functions_.Of(offset, values), kNone, first_range);
  return static_cast<uint32_t>(out_.scopes.size() - 1);
}

uint32_t ScopeWalk::EnterInlined(uint64_t offset, const EntryValues& values, uint32_t parent,
                                 bool has_children) {
  if (parent == kRemovedScope) return kRemovedScope;
  const size_t first_range = out_.ranges.size();
  const Code code = AppendRanges(values);
  // One without code may still lie between others that have some.
  if (code != Code::kHere && (parent == kNone || !has_children)) return parent;
  AddScope(functions_.Of(offset, values), parent, first_range);
  Scope& scope = out_.scopes.back();
  scope.call_line = static_cast<uint32_t>(values.NumberOr(Slot::kCallLine, 0));
  if (values.Has(Slot::kCallFile)) {
    scope.call_file = functions_.FileOf(values[Slot::kCallFile].number);
  }
  return static_cast<uint32_t>(out_.scopes.size() - 1);
}

ScopeWalk::Code ScopeWalk::AppendRanges(const EntryValues& values) {
  const size_t first_range = out_.ranges.size();
  if (values.Has(Slot::kLowPc) && values.Has(Slot::kHighPc)) {
    const auto start = unit_.Address(values[Slot::kLowPc]);
    if (!start) return Code::kUnsaid;
    const Value& high = values[Slot::kHighPc];
    const auto end = UnitContext::IsConstant(high) ? *start + high.number : unit_.Address(high);
    if (!end) return Code::kUnsaid;
    if (IsTombstone(*start, unit_.header().sizes.address)) return Code::kRemoved;
    if (*end > *start) out_.ranges.push_back({*start, *end});
  } else if (values.Has(Slot::kRanges)) {
    if (!AppendRangeList(unit_, values[Slot::kRanges], budget_.range_bytes, kRangesMax,
                         out_.ranges)) {
      // The longest entry of a list is shorter than this.
      const bool cut = budget_.range_bytes < 32 || out_.ranges.size() >= kRangesMax;
      ranges_cut_ = ranges_cut_ || cut;
      if (!cut) ++damaged_range_list_count_;
    }
  } else {
    return Code::kUnsaid;
  }
  return out_.ranges.size() > first_range ? Code::kHere : Code::kRemoved;
}

void ScopeWalk::AddScope(uint32_t function, uint32_t parent, size_t first_range) {
  Scope scope;
  scope.function = function;
  scope.parent = parent;
  scope.range_first = static_cast<uint32_t>(first_range);
  scope.range_count = static_cast<uint32_t>(out_.ranges.size() - first_range);
  out_.scopes.push_back(scope);
}

}  // namespace vesta::dwarf
