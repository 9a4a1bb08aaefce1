// Rows as columns: how they travel between memory, the hot file and Parquet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vesta::store::duck {

// Shape: each span has row_count elements, or none where a reader was not asked for that column.
//        Ids are those of the volume's dictionary.
// Units: as BatchRow.
// Owner: of whoever made it; what a sink gets lives until the sink returns.
struct RowColumns {
  size_t row_count = 0;
  std::span<const uint32_t> type;
  std::span<const uint32_t> series;
  std::span<const uint32_t> task;
  std::span<const uint32_t> stack;
  std::span<const int64_t> time_unix_ms;
  std::span<const int64_t> value;
  std::span<const int64_t> count;
  std::span<const float> weight;
};

// Sets of columns, by |.
inline constexpr uint32_t kTypeColumn = 1;
inline constexpr uint32_t kSeriesColumn = 2;
inline constexpr uint32_t kTaskColumn = 4;
inline constexpr uint32_t kStackColumn = 8;
inline constexpr uint32_t kTimeColumn = 16;
inline constexpr uint32_t kValueColumn = 32;
inline constexpr uint32_t kCountColumn = 64;
inline constexpr uint32_t kWeightColumn = 128;
inline constexpr uint32_t kAllColumns = 255;

}  // namespace vesta::store::duck
