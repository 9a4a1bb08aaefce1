// Lists of roll-ups as columns: ids as distances, then counts, then values, which are mostly a
// multiple of the counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/result.h"
#include "src/store/index/column_codec.h"
#include "src/store/index/rollup.h"

namespace vesta::store::index {

void EncodeList(std::span<const StackTotal> rows, ColumnWriter* writer);
void EncodeList(std::span<const FunctionTotal> rows, ColumnWriter* writer);
void EncodeList(std::span<const MinuteTotal> rows, ColumnWriter* writer);

// Appends the rows of a block to `out`, whose elements from `begin` on are the same list's.
// Shape: ids below id_limit.
// Errors: Corrupt when the columns do not fit, or ids do not ascend.
base::Result<void> DecodeList(std::span<const std::byte> block, size_t rows, uint32_t id_limit,
                              size_t begin, std::vector<StackTotal>* out);
base::Result<void> DecodeList(std::span<const std::byte> block, size_t rows, uint32_t id_limit,
                              size_t begin, std::vector<FunctionTotal>* out);
base::Result<void> DecodeList(std::span<const std::byte> block, size_t rows, size_t begin,
                              std::vector<MinuteTotal>* out);

}  // namespace vesta::store::index
