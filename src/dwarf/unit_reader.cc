#include "src/dwarf/unit_reader.h"

#include <optional>
#include <utility>

#include "src/dwarf/constants.h"
#include "src/dwarf/scope_walk.h"

namespace vesta::dwarf {

namespace {

constexpr size_t kLineRowsMax = size_t{1} << 22;  // of one unit: 96 MB
constexpr uint64_t kFreeBytes = uint64_t{64} << 20;
constexpr uint64_t kSplitBytes = uint64_t{16} << 30;

// Bytes may be shared, but no compiler shares most of them more often than this.
constexpr uint64_t kSharedTimesMax = 8;
constexpr uint64_t kNamesTimesMax = 16;

void Grant(Budget& budget, const Sections& sections) {
  budget.range_bytes +=
      kFreeBytes + kSharedTimesMax * (sections.ranges.size() + sections.rnglists.size());
  budget.line_bytes += kSharedTimesMax * sections.line.size();
  budget.reference_bytes += kFreeBytes + kSharedTimesMax * sections.info.size();
  budget.name_bytes += kFreeBytes + kNamesTimesMax * (sections.info.size() + sections.str.size());
}

bool MayHaveCode(const UnitContext& unit) {
  return unit.tag() == kTagCompileUnit || unit.tag() == kTagSkeletonUnit;
}

}  // namespace

void Unit::Clear() {
  offset = 0;
  version = 0;
  language = 0;
  files.clear();
  functions.clear();
  scopes.clear();
  ranges.clear();
  lines.clear();
}

UnitReader::UnitReader(const Sections& sections, SplitSource split_source)
    : sections_(sections), split_source_(std::move(split_source)), cache_(abbreviations_) {
  budget_.split_bytes = kSplitBytes;
  Grant(budget_, sections_);
  if (sections_.alternate != nullptr) Grant(budget_, *sections_.alternate);
}

bool UnitReader::Next(Unit& unit) {
  UnitHeader header;
  while (position_ < sections_.info.size()) {
    const uint64_t offset = position_;
    const auto read = ReadUnitHeader(sections_.info, offset, header);
    if (!read.ok() && header.end == 0) {
      ++stats_.damaged_count;
      position_ = sections_.info.size();
      return false;
    }
    position_ = header.end;
    if (!read.ok()) {
      ++stats_.damaged_count;
      continue;
    }
    if (header.unit_type != kUnitCompile && header.unit_type != kUnitSkeleton) continue;
    if (ReadUnit(offset, unit)) return true;
  }
  return false;
}

bool UnitReader::ReadUnit(uint64_t offset, Unit& out) {
  out.Clear();
  auto opened = UnitContext::Open(sections_, offset, abbreviations_);
  if (!opened.ok()) {
    ++stats_.damaged_count;
    return false;
  }
  const UnitContext& unit = **opened;
  if (!MayHaveCode(unit)) return false;
  std::unique_ptr<UnitContext> split;
  if (!unit.dwo_name().empty()) {
    split = OpenSplit(unit);
    if (split == nullptr) ++stats_.split_missing_count;
  }
  const UnitContext& entries = split == nullptr ? unit : *split;
  out.offset = offset;
  out.version = unit.header().version;
  out.language = entries.language();

  std::optional<LineTable> lines;
  bool lines_damaged = false;
  if (unit.line_offset()) {
    uint64_t header_bytes = 0;
    auto table = LineTable::Open(sections_.line, *unit.line_offset(), unit, header_bytes);
    lines_damaged = !table.ok();
    if (table.ok()) lines = std::move(table).value();
  }
  FunctionTable functions(entries, lines ? &*lines : nullptr, cache_, budget_, out);
  bool cut = false;
  if (lines) {
    LineLimits limits{budget_.line_bytes, kLineRowsMax};
    const auto outcome = lines->Run([&functions](uint64_t file) { return functions.FileOf(file); },
                                    limits, out.lines);
    budget_.line_bytes = limits.budget_bytes;
    lines_damaged = outcome == LineTable::Outcome::kDamaged;
    cut = outcome == LineTable::Outcome::kCutByLimit;
  }
  ScopeWalk walk(entries, functions, budget_, out);
  const auto outcome = walk.Run();
  stats_.lost_reference_count += functions.lost_reference_count();
  stats_.damaged_range_list_count += walk.damaged_range_list_count();
  if (lines_damaged) ++stats_.line_damaged_count;
  if (split != nullptr) cache_.Forget(split->sections());
  if (outcome == ScopeWalk::Outcome::kDamaged) {
    ++stats_.damaged_count;
    return false;
  }
  cut = cut || functions.budget_spent() || outcome == ScopeWalk::Outcome::kCutByLimit;
  if (cut) ++stats_.truncated_count;
  ++stats_.unit_count;
  return true;
}

std::unique_ptr<UnitContext> UnitReader::OpenSplit(const UnitContext& skeleton) {
  if (!split_source_) return nullptr;
  const Sections* sections =
      split_source_(skeleton.dwo_name(), skeleton.comp_dir(), skeleton.dwo_id());
  if (sections == nullptr) return nullptr;
  UnitHeader header;
  for (uint64_t offset = 0; offset < sections->info.size(); offset = header.end) {
    const auto read = ReadUnitHeader(sections->info, offset, header);
    if (header.end == 0) return nullptr;
    const uint64_t bytes = header.end - offset;
    if (bytes > budget_.split_bytes) return nullptr;
    budget_.split_bytes -= bytes;
    if (!read.ok()) continue;
    auto opened = UnitContext::Open(*sections, offset, abbreviations_);
    if (!opened.ok() || (*opened)->tag() != kTagCompileUnit ||
        (*opened)->dwo_id() != skeleton.dwo_id()) {
      continue;
    }
    (*opened)->set_skeleton(&skeleton);
    Grant(budget_, *sections);
    return std::move(opened).value();
  }
  return nullptr;
}

}  // namespace vesta::dwarf
