#include "src/dwarf/function_table.h"

#include <algorithm>

namespace vesta::dwarf {

namespace {

// From a copy to its declaration are three steps at most: origin, specification, and perhaps the
// early unit of link time optimisation.
constexpr int kReferencesMax = 8;
constexpr size_t kPathBytesMax = 4096;  // PATH_MAX
constexpr size_t kUnitPathBytesMax = size_t{64} << 20;

}  // namespace

FunctionTable::FunctionTable(const UnitContext& unit, const LineTable* line_table, UnitCache& cache,
                             Budget& budget, Unit& out)
    : unit_(unit), line_table_(line_table), cache_(cache), budget_(budget), out_(out) {}

uint64_t FunctionTable::KeyOf(const EntryPlace& place) const {
  // Two files at most: the unit's own and its alternate.
  return place.offset << 1 | (place.sections == &unit_.sections() ? 0u : 1u);
}

uint32_t FunctionTable::Of(uint64_t entry_offset, const EntryValues& values) {
  EntryPlace place{&unit_.sections(), entry_offset};
  const bool named = values.HasAny(Slot::kName, Slot::kLinkageName);
  const bool shared = !named && values.Has(Slot::kAbstractOrigin);
  if (shared) {
    const auto origin = unit_.Reference(values[Slot::kAbstractOrigin]);
    if (!origin) {
      ++lost_reference_count_;
      return kNone;
    }
    place = *origin;
  }
  const auto [found, is_new] =
      functions_.try_emplace(KeyOf(place), static_cast<uint32_t>(out_.functions.size()));
  if (!is_new) return found->second;
  Function function;
  if (shared) {
    Follow(function, place);
  } else {
    Complete(function, unit_, values);
    Follow(function, NextPlace(unit_, values));
  }
  out_.functions.push_back(function);
  return found->second;
}

std::optional<EntryPlace> FunctionTable::NextPlace(const UnitContext& context,
                                                   const EntryValues& values) {
  if (values.Has(Slot::kAbstractOrigin)) return context.Reference(values[Slot::kAbstractOrigin]);
  if (values.Has(Slot::kSpecification)) return context.Reference(values[Slot::kSpecification]);
  return std::nullopt;
}

void FunctionTable::Follow(Function& function, std::optional<EntryPlace> place) {
  for (int i = 0; place && i < kReferencesMax; ++i) {
    const bool whole = !function.linkage_name.empty() && !function.name.empty() &&
                       function.line != 0 && function.file != kNone;
    if (whole) return;
    const UnitContext* context = ContextOf(*place);
    if (context == nullptr) {
      ++lost_reference_count_;
      return;
    }
    base::ByteReader reader = context->ReaderAt(place->offset);
    const Abbreviation* abbreviation = context->abbreviations().Find(reader.ReadUleb128());
    if (!reader.ok() || abbreviation == nullptr || abbreviation->kind != EntryKind::kFunction) {
      ++lost_reference_count_;
      return;
    }
    EntryValues values;
    context->abbreviations().ReadEntry(reader, *abbreviation, values);
    const uint64_t entry_bytes = reader.position() - place->offset;
    if (!reader.ok() || entry_bytes > budget_.reference_bytes) {
      budget_spent_ = budget_spent_ || reader.ok();
      ++lost_reference_count_;
      return;
    }
    budget_.reference_bytes -= entry_bytes;
    Complete(function, *context, values);
    place = NextPlace(*context, values);
  }
}

void FunctionTable::Complete(Function& function, const UnitContext& context,
                             const EntryValues& values) {
  if (function.linkage_name.empty() && values.Has(Slot::kLinkageName)) {
    function.linkage_name = Name(context, values[Slot::kLinkageName]);
  }
  if (function.name.empty() && values.Has(Slot::kName)) {
    function.name = Name(context, values[Slot::kName]);
  }
  if (function.line == 0) {
    function.line = static_cast<uint32_t>(values.NumberOr(Slot::kDeclLine, 0));
  }
  if (function.file == kNone && values.Has(Slot::kDeclFile)) {
    function.file = FileOf(context, values[Slot::kDeclFile].number);
  }
}

std::string_view FunctionTable::Name(const UnitContext& context, const Value& value) {
  if (budget_.name_bytes == 0) {
    budget_spent_ = true;
    return {};
  }
  const std::string_view name = context.String(value);
  budget_.name_bytes -= std::min<uint64_t>(budget_.name_bytes, name.size());
  return name;
}

const UnitContext* FunctionTable::ContextOf(const EntryPlace& place) {
  if (place.sections == &unit_.sections() && place.offset >= unit_.header().offset &&
      place.offset < unit_.header().end) {
    return &unit_;
  }
  return cache_.Find(place);
}

uint32_t FunctionTable::FileOf(uint64_t file_number) {
  // One more for tables that count from 1; a program may add files, so that ask for the path.
  if (line_table_ == nullptr || file_number > line_table_->file_count()) return kNone;
  if (file_number >= files_.size()) files_.resize(line_table_->file_count() + 1, kNone);
  uint32_t& index = files_[file_number];
  if (index == kNone) index = AddFile(line_table_->PathOf(file_number));
  return index;
}

uint32_t FunctionTable::AddFile(std::optional<std::string> path) {
  if (!path) return kNone;
  if (path->size() > kPathBytesMax || path_bytes_ + path->size() > kUnitPathBytesMax) {
    budget_spent_ = true;
    return kNone;
  }
  path_bytes_ += path->size();
  out_.files.push_back(std::move(*path));
  return static_cast<uint32_t>(out_.files.size() - 1);
}

uint32_t FunctionTable::FileOf(const UnitContext& context, uint64_t file_number) {
  if (&context == &unit_) return FileOf(file_number);
  const std::byte* first = context.sections().info.data() + context.header().offset;
  const auto [found, is_new] = foreign_files_.try_emplace({first, file_number}, kNone);
  if (!is_new) return found->second;
  const LineTable* table = cache_.LineTableOf(context);
  if (table == nullptr) return kNone;
  found->second = AddFile(table->PathOf(file_number));
  return found->second;
}

}  // namespace vesta::dwarf
