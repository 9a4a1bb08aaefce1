// Small tables as Parquet: the dictionaries of a closed volume, for readers that are not us.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/result.h"
#include "src/store/duck/duck_db.h"

namespace vesta::store::duck {

enum class ColumnKind { kU32, kI64, kU64, kF32, kBool, kString, kU32List };

struct ColumnSpec {
  std::string name;  // [a-z0-9_]+
  ColumnKind kind = ColumnKind::kU32;
  // Another column of the table and this kind: where it has the same value, the file has NULL here.
  std::string null_as = {};
};

// Shape: row i = values[ends[i - 1], ends[i]), from 0 for the first one.
struct U32Lists {
  std::span<const uint64_t> ends;
  std::span<const uint32_t> values;
};
struct Bools {
  std::span<const uint8_t> values;  // 0 or 1
};

// The alternatives stand in the order of ColumnKind. Strings are UTF-8.
using ColumnValues =
    std::variant<std::span<const uint32_t>, std::span<const int64_t>, std::span<const uint64_t>,
                 std::span<const float>, Bools, std::span<const std::string_view>, U32Lists>;

// Errors of all here: Corrupt naming the file, NotFound, Unavailable (disk), Exhausted (memory),
//        InvalidInput for columns that do not fit their table or text that is not UTF-8.

// Shape: rows keep their order.
class ParquetTableWriter {
 public:
  static base::Result<std::unique_ptr<ParquetTableWriter>> Create(const DuckDb& db,
                                                                  std::vector<ColumnSpec> columns);
  ~ParquetTableWriter();

  // One element per column, all with as many rows.
  base::Result<void> Append(std::span<const ColumnValues> columns);
  // Writes the file, synced to disk. Call it once, last.
  base::Result<void> Finish(const std::string& path);

 private:
  class State;
  explicit ParquetTableWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

using TableSink =
    std::function<base::Result<void>(size_t row_count, std::span<const ColumnValues> columns)>;

// Gives the rows in order, in pieces; views live until the sink returns.
// Errors: besides, Corrupt when the file lacks a column, has it with another type or has a NULL
//         that means nothing.
base::Result<void> ReadParquetTable(const DuckDb& db, const std::string& path,
                                    std::span<const ColumnSpec> columns, const TableSink& sink);

}  // namespace vesta::store::duck
