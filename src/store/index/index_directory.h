// Where things lie in an index file. Only its readers see this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/store/index/column_codec.h"
#include "src/store/index/dictionary_rows.h"
#include "src/store/index/index_format.h"
#include "src/store/index/page_cache.h"
#include "src/store/index/rollup.h"

namespace vesta::store::index {

class IndexDirectory {
 public:
  // Errors: Corrupt, Unsupported; as IndexFile::Open.
  static base::Result<std::unique_ptr<IndexDirectory>> Read(
      std::unique_ptr<const base::ByteSource> file, PageCache* cache);
  ~IndexDirectory();

  // Blocks of a list.
  struct Blocks {
    size_t first = 0;
    size_t count = 0;
  };
  struct Lists {
    Blocks stacks, functions, minutes;
  };

  const std::vector<SeriesSummary>& summaries() const { return summaries_; }
  const Lists& lists(size_t place) const { return lists_[place]; }
  // Nothing for a type that is not there.
  Blocks fleet(uint32_t type) const;
  std::span<const uint32_t> fleet_types() const { return fleet_types_; }
  const DictionaryMarks& marks() const { return marks_; }

  base::Result<RawBlock> Read(size_t block) const { return ReadBlock(*file_, blocks_[block]); }
  uint32_t rows(size_t block) const { return blocks_[block].rows; }
  // A page of the dictionary, from the cache if it is there. The page must exist (CHECK).
  base::Result<std::shared_ptr<const DictionaryRows>> Page(Table table, uint32_t page) const;
  // Where it lies in the file.
  uint64_t page_offset(Table table, uint32_t page) const {
    return blocks_[first_page_[static_cast<size_t>(table)] + page].offset;
  }

 private:
  base::Result<void> ReadColumns(ColumnReader* reader, uint64_t directory_offset);
  base::Result<void> PlaceBlocks(ColumnReader* reader, uint64_t block_count,
                                 uint64_t directory_offset);
  base::Result<void> ReadSummaries(ColumnReader* reader, uint64_t count);
  base::Result<void> AssignBlocks(const std::vector<ListBlocks>& counts,
                                  const std::vector<uint32_t>& fleet_counts);
  base::Result<Blocks> TakeList(uint64_t count);

  std::unique_ptr<const base::ByteSource> file_;
  PageCache* cache_ = nullptr;
  uint64_t cache_file_ = 0;
  std::vector<BlockRef> blocks_;
  size_t blocks_taken_ = 0;  // while the directory is read
  std::vector<SeriesSummary> summaries_;
  std::vector<ListBlocks> list_blocks_;  // while the directory is read
  std::vector<Lists> lists_;
  DictionaryMarks marks_;
  std::array<size_t, kTableCount> first_page_ = {};
  std::vector<uint32_t> fleet_types_;  // ascending
  std::vector<Blocks> fleet_;
};

}  // namespace vesta::store::index
