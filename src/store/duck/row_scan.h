// Rows from memory as a table of SQL, chunk by chunk, so that there is no second copy of all of
// them.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/store/duck/duck_handles.h"
#include "src/store/duck/parquet_rows.h"
#include "src/store/duck/row_columns.h"

namespace vesta::store::duck {

// Owner: lives as long as the statement that reads it, and serves one.
class RowScan {
 public:
  explicit RowScan(const RowSource& next) : next_(next) {}
  RowScan(const RowScan&) = delete;
  RowScan& operator=(const RowScan&) = delete;

  // What stands behind FROM.
  std::string Sql() const;
  // What the source answered, as DuckDB passes on only the words of an error.
  base::Result<void> TakeError() { return std::move(error_); }

  // Fills the chunk; nothing at the end. For the library's callback.
  void Fill(const DuckLibrary& library, duckdb_function_info info, duckdb_data_chunk chunk);

 private:
  const RowSource& next_;
  RowColumns rows_;  // of which the first given_ were given
  size_t given_ = 0;
  base::Result<void> error_;
};

// Makes the table known to an instance. Once for each.
base::Result<void> RegisterRowScan(Connection* connection);

}  // namespace vesta::store::duck
