// Rows as DuckDB's chunks: the columns of row_columns.h in the order of every table and file of
// ours.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "src/store/duck/duck_handles.h"
#include "src/store/duck/row_columns.h"

namespace vesta::store::duck {

struct RowColumn {
  const char* name;
  const char* sql_type;
  duckdb_type type;
};
// Bit i of a set of columns is column i here.
inline constexpr std::array<RowColumn, 8> kRowColumns = {{
    {"type", "UINTEGER", DUCKDB_TYPE_UINTEGER},
    {"series", "UINTEGER", DUCKDB_TYPE_UINTEGER},
    {"task", "UINTEGER", DUCKDB_TYPE_UINTEGER},
    {"stack", "UINTEGER", DUCKDB_TYPE_UINTEGER},
    {"time_unix_ms", "BIGINT", DUCKDB_TYPE_BIGINT},
    {"value", "BIGINT", DUCKDB_TYPE_BIGINT},
    {"count", "BIGINT", DUCKDB_TYPE_BIGINT},
    {"weight", "FLOAT", DUCKDB_TYPE_FLOAT},
}};

// CREATE TABLE NAME(...), NOT NULL all of them.
std::string CreateRowTable(const std::string& name);
// The names in quotes, by commas: of a set of columns.
std::string RowColumnList(uint32_t columns);
std::vector<duckdb_type> RowColumnTypes();

// Appends all rows; does not flush.
base::Result<void> AppendRows(Appender* appender, const RowColumns& rows);

// A view of a chunk that has this set of columns, in their order.
RowColumns ViewRows(const Chunk& chunk, uint32_t columns);
// Errors: Corrupt when the answer has other types.
base::Result<void> CheckRowTypes(ResultStream* stream, uint32_t columns,
                                 const std::string& subject);

// COPY (query) TO path, sorted, as sealed files are written; synced. Units: returns the rows.
base::Result<uint64_t> CopySorted(Connection* connection, const std::string& query,
                                  const std::string& path, const std::atomic<bool>* cancelled);

}  // namespace vesta::store::duck
