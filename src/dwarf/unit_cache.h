// Units that others refer to: found by a place in .debug_info, opened once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/dwarf/line_program.h"
#include "src/dwarf/unit_context.h"

namespace vesta::dwarf {

// Owner: one reader. What Find and LineTableOf give is good until the next call of the same one.
class UnitCache {
 public:
  explicit UnitCache(AbbreviationCache& abbreviations) : abbreviations_(abbreviations) {}

  // nullptr when no good unit has an entry there.
  const UnitContext* Find(const EntryPlace& place);

  // The files of a unit's line table; nullptr when there is none, or tables have been read again
  // and again.
  const LineTable* LineTableOf(const UnitContext& unit);

  // To be said before the bytes of these sections go away.
  void Forget(const Sections& sections);

 private:
  static constexpr size_t kUnitsMax = 1024;
  static constexpr size_t kFilesMax = size_t{1} << 19;  // 12 MB

  const std::vector<uint64_t>& OffsetsOf(const Sections& sections);

  AbbreviationCache& abbreviations_;
  std::unordered_map<const Sections*, std::vector<uint64_t>> offsets_;
  std::unordered_map<const std::byte*, std::unique_ptr<UnitContext>> units_;    // by first byte
  std::unordered_map<const std::byte*, std::optional<LineTable>> line_tables_;  // the same
  size_t files_held_ = 0;
  uint64_t header_bytes_read_ = 0;  // of line tables
  uint64_t first_entry_bytes_read_ = 0;
};

}  // namespace vesta::dwarf
