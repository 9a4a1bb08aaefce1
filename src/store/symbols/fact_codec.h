// Facts as bytes: a record of the log, or a page of a sorted file. docs/formats/store.md has the
// layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/result.h"
#include "src/store/symbols/symbol_fact.h"

namespace vesta::store::symbols {

// No block is longer than what writers make of one fact that is as large as can be, and some more.
inline constexpr size_t kBlockBytesMax = size_t{1} << 20;
// A writer that has so much is to finish its block.
inline constexpr size_t kBlockBytes = size_t{32} << 10;

void PutNumber(uint64_t value, std::string* bytes);  // LEB128
void PutFixed(uint64_t value, std::string* bytes);   // 8 bytes
void PutHash(const Hash128& hash, std::string* bytes);
uint64_t ChecksumOf(std::string_view bytes);  // XXH3

// Copies what it is given.
// Owner: one thread.
class FactWriter {
 public:
  void Add(const Place& place, const Fact& fact);
  // The batch that the facts came with.
  void AddBatch(const Hash128& batch) { batches_.push_back(batch); }
  size_t count() const { return fact_count_; }
  size_t size_bytes() const {  // about
    return strings_.size() + functions_.size() + images_.size() * sizeof(Hash128) + facts_.size();
  }
  // The block; the writer is empty again.
  std::string Finish();

 private:
  uint32_t StringNumber(std::string_view text);
  uint32_t FunctionNumber(const FunctionText& function);

  std::vector<Hash128> batches_;
  std::string strings_;
  std::unordered_map<std::string, uint32_t> string_numbers_;
  std::string functions_;
  std::unordered_map<std::string, uint32_t> function_numbers_;  // by their bytes
  std::vector<Hash128> images_;
  std::unordered_map<Hash128, uint32_t, Hash128Hash> image_numbers_;
  std::string facts_;
  size_t fact_count_ = 0;
  uint64_t last_version_ = 0;
};

// What a block holds, and the bytes that it points into.
// Owner: immutable and shared.
// Cost:  memory about 16 times the bytes at worst.
class FactBlock {
 public:
  // Errors: Corrupt.
  static base::Result<std::shared_ptr<const FactBlock>> Decode(std::string bytes);

  std::span<const Hash128> batches() const { return batches_; }
  size_t count() const { return rows_.size(); }
  Place place(size_t fact) const { return {images_[rows_[fact].image], rows_[fact].address}; }
  Fact fact(size_t fact) const {
    const Row& row = rows_[fact];
    return {row.version, std::span(lines_).subspan(row.first_line, row.line_count)};
  }
  size_t memory_bytes() const;

 private:
  struct Row {
    uint64_t address;
    uint64_t version;
    uint32_t image;
    uint32_t first_line;
    uint32_t line_count;
  };
  base::Result<void> Read();

  std::string bytes_;
  std::vector<Hash128> batches_;
  std::vector<FunctionText> functions_;
  std::vector<Hash128> images_;
  std::vector<Row> rows_;
  std::vector<FactLine> lines_;
};

}  // namespace vesta::store::symbols
