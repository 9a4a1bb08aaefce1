// The layout of index files; docs/formats/store.md explains it.
//
// header (40 bytes): "VESTAIDX", u32 version, u32 directory bytes, u64 directory offset,
//                    u64 XXH3 of the directory, u64 XXH3 of the 32 bytes before
// blocks, one behind the other: lists of each series (stacks, functions, minutes), pages of each
//                    table of the dictionary, lists of functions of each type (the fleet's)
// directory: a block; it says how many bytes and rows each block has, so where it begins
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/store/index/dictionary_rows.h"

namespace vesta::store::index {

struct IndexHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t directory_bytes;
  uint64_t directory_offset;
  uint64_t directory_checksum;
  uint64_t header_checksum;
};
static_assert(sizeof(IndexHeader) == 40);

inline constexpr std::array<char, 8> kIndexMagic = {'V', 'E', 'S', 'T', 'A', 'I', 'D', 'X'};
inline constexpr uint32_t kIndexVersion = 1;
inline constexpr uint32_t kListRows = 32768;  // of a block of a list, at most

// Rows of a page of each table; only the last page has fewer.
constexpr uint32_t PageRows(Table table) {
  switch (table) {
    case Table::kStrings:
      return 256;
    case Table::kImages:
      return 256;
    case Table::kFunctions:
      return 1024;
    case Table::kCallables:
      return 1024;
    case Table::kFrames:
      return 512;
    case Table::kNodes:
      return kNodePageRows;
    case Table::kSeries:
      return 256;
    case Table::kTypes:
      return 256;
    case Table::kTasks:
      break;
  }
  return 1024;
}
constexpr uint32_t PageCount(Table table, uint32_t rows) {
  return static_cast<uint32_t>((uint64_t{rows} + PageRows(table) - 1) / PageRows(table));
}

// What the directory says of a series besides its summary: how many blocks its lists have.
struct ListBlocks {
  uint32_t stacks = 0;
  uint32_t functions = 0;
  uint32_t minutes = 0;
};

}  // namespace vesta::store::index
