// Rows as bytes: how the hot file logs them. A commit's rows of a part are one value there, since
// nobody asks that file for single rows, and a value costs less than a tenth of 1,000 rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/store/duck/row_columns.h"

namespace vesta::store::duck {

// Runs can name more rows than memory has, so there is a bound.
inline constexpr size_t kRowsOfValueMax = 100'000;

// Shape: row count u32, then the columns time, value, count, type, series, task, stack, weight: a
//        byte 0 and the elements; or a byte 1, the number of runs u32, an element per run and a
//        length u32 per run; or, of integers, a byte 1 + w, the least element, and the distance of
//        each from it in w = 1, 2 or 4 bytes. Little endian.
// Units: 1 to kRowsOfValueMax rows.
// Cost:  a few looks at each element; 6 to 44 bytes per row: a push's rows share most columns.
void EncodeRows(const RowColumns& rows, std::vector<uint8_t>* bytes);

// Columns that were read; keeps its memory for the next ones.
class DecodedRows {
 public:
  // Errors: Corrupt, naming the subject, when the bytes are not those of whole columns.
  base::Result<void> Decode(std::span<const uint8_t> bytes, const std::string& subject);
  RowColumns View() const;

 private:
  std::vector<int64_t> time_unix_ms_, value_, count_;
  std::vector<uint32_t> type_, series_, task_, stack_;
  std::vector<float> weight_;
};

}  // namespace vesta::store::duck
