// A sorted file of facts: written once, read by blocks. docs/formats/store.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/store/index/page_cache.h"
#include "src/store/symbols/fact_codec.h"
#include "src/store/symbols/recent_symbols.h"

namespace vesta::store::symbols {

// What the file says of itself.
struct RunFacts {
  // Of the files of the store's folder, by number: this one has what those from here up to itself
  // had.
  uint64_t first_file = 0;
  uint64_t places = 0;
  // Of these, the ones that no older file had when they came: of all files together they are the
  // places that are known.
  uint64_t new_places = 0;
  uint64_t oldest_version = 0;
  uint64_t newest_version = 0;
};

// Owner: one thread. What it makes goes to the sink piece by piece.
class RunWriter {
 public:
  using Bytes = std::function<base::Result<void>(std::string_view)>;
  explicit RunWriter(Bytes sink) : sink_(std::move(sink)) {}

  // Shape: places ascend.
  base::Result<void> Add(const Place& place, const Fact& fact);
  base::Result<void> Finish(uint64_t first_file, uint64_t new_places,
                            std::span<const Hash128> batches);

 private:
  base::Result<void> EndBlock();
  struct BlockEntry {
    Place first;
    uint64_t bytes = 0;
    uint64_t checksum = 0;
  };

  Bytes sink_;
  FactWriter block_;
  Place first_;
  std::vector<BlockEntry> blocks_;
  std::vector<std::pair<Hash128, uint64_t>> images_;  // and the newest version of each
  uint64_t offset_ = 0;
  RunFacts facts_;
};

// Owner: immutable and shared by any threads; the cache must live longer.
// Cost:  48 bytes for each block of 32 KiB, 24 for each image, 16 for each batch.
// Errors of all: Corrupt saying where; Unavailable when the file cannot be read; Unsupported for a
//         version that is not ours.
class SymbolRun {
 public:
  static base::Result<std::shared_ptr<const SymbolRun>> Open(
      std::unique_ptr<const base::ByteSource> file, index::PageCache* cache);
  ~SymbolRun();
  SymbolRun(const SymbolRun&) = delete;
  SymbolRun& operator=(const SymbolRun&) = delete;

  const RunFacts& facts() const { return facts_; }
  std::span<const Hash128> batches() const { return batches_; }
  uint64_t size_bytes() const { return file_->size_bytes(); }
  size_t memory_bytes() const;
  // As RecentSymbols.
  uint64_t newest(const Hash128& image) const;
  size_t block_count() const { return blocks_.size(); }
  base::Result<std::shared_ptr<const FactBlock>> block(size_t number) const;
  // The fact lives as long as `owner`, which is one that was given back before, or nothing.
  base::Result<std::optional<Fact>> Find(const Place& place, uint64_t after,
                                         std::shared_ptr<const FactBlock>* owner) const;

 private:
  struct Block {
    Place first;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint64_t checksum = 0;
  };
  SymbolRun(std::unique_ptr<const base::ByteSource> file, index::PageCache* cache)
      : file_(std::move(file)), cache_(cache), cache_file_(cache->NewFile()) {}
  base::Result<void> ReadDirectory();
  base::Result<void> ParseDirectory(std::span<const std::byte> bytes, uint64_t blocks_end);

  const std::unique_ptr<const base::ByteSource> file_;
  index::PageCache* const cache_;
  const uint64_t cache_file_;
  std::vector<Block> blocks_;
  std::vector<std::pair<Hash128, uint64_t>> images_;  // ascending
  std::vector<Hash128> batches_;
  RunFacts facts_;
};

}  // namespace vesta::store::symbols
