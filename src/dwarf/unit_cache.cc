#include "src/dwarf/unit_cache.h"

#include <algorithm>

#include "src/dwarf/constants.h"

namespace vesta::dwarf {

namespace {

constexpr size_t kUnitOffsetsMax = size_t{1} << 22;
constexpr uint64_t kFreeBytes = uint64_t{64} << 20;
constexpr uint64_t kTimesMax = 64;

// Whether bytes of a section have been read more often than any compiler's file needs.
bool TooOften(uint64_t bytes_read, Bytes section) {
  return bytes_read > kFreeBytes && bytes_read / kTimesMax > section.size();
}

}  // namespace

const std::vector<uint64_t>& UnitCache::OffsetsOf(const Sections& sections) {
  const auto [found, is_new] = offsets_.try_emplace(&sections);
  if (!is_new) return found->second;
  UnitHeader header;
  uint64_t offset = 0;
  while (offset < sections.info.size() && found->second.size() < kUnitOffsetsMax) {
    const auto read = ReadUnitHeader(sections.info, offset, header);
    if (!read.ok() && header.end == 0) break;
    if (read.ok()) found->second.push_back(offset);
    offset = header.end;
  }
  return found->second;
}

const UnitContext* UnitCache::Find(const EntryPlace& place) {
  const std::vector<uint64_t>& offsets = OffsetsOf(*place.sections);
  const auto after = std::upper_bound(offsets.begin(), offsets.end(), place.offset);
  if (after == offsets.begin()) return nullptr;
  const uint64_t offset = *(after - 1);
  if (TooOften(first_entry_bytes_read_, place.sections->info)) return nullptr;
  if (units_.size() >= kUnitsMax) units_.clear();
  const auto [found, is_new] = units_.try_emplace(place.sections->info.data() + offset);
  if (is_new) {
    auto opened = UnitContext::Open(*place.sections, offset, abbreviations_);
    if (opened.ok()) {
      found->second = std::move(opened).value();
      first_entry_bytes_read_ += found->second->children() - offset;
    }
  }
  const UnitContext* unit = found->second.get();
  return unit != nullptr && place.offset < unit->header().end ? unit : nullptr;
}

const LineTable* UnitCache::LineTableOf(const UnitContext& unit) {
  if (!unit.line_offset()) return nullptr;
  const std::byte* key = unit.sections().info.data() + unit.header().offset;
  if (const auto found = line_tables_.find(key); found != line_tables_.end()) {
    return found->second ? &*found->second : nullptr;
  }
  if (TooOften(header_bytes_read_, unit.sections().line)) return nullptr;
  uint64_t header_bytes = 0;
  auto table = LineTable::Open(unit.sections().line, *unit.line_offset(), unit, header_bytes);
  header_bytes_read_ += header_bytes;
  const size_t files = 1 + (table.ok() ? table->file_count() : 0);
  if (files_held_ + files > kFilesMax) {
    line_tables_.clear();
    files_held_ = 0;
  }
  files_held_ += files;
  std::optional<LineTable>& held = line_tables_[key];
  if (table.ok()) held = std::move(table).value();
  return held ? &*held : nullptr;
}

void UnitCache::Forget(const Sections& sections) {
  offsets_.erase(&sections);
  units_.clear();
  line_tables_.clear();
  files_held_ = 0;
  abbreviations_.Forget(sections.abbrev);
}

}  // namespace vesta::dwarf
