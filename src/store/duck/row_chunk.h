// Rows as DuckDB's chunks: the columns of row_columns.h in the order of every table and file of
// ours.
#pragma once

#include <array>
#include <string>

#include "src/store/duck/duck_handles.h"
#include "src/store/duck/row_columns.h"

namespace vesta::store::duck {

struct RowColumn {
  const char* name;
  duckdb_type type;
};
// Bit i of a set of columns is column i here.
inline constexpr std::array<RowColumn, 8> kRowColumns = {{
    {"type", DUCKDB_TYPE_UINTEGER},
    {"series", DUCKDB_TYPE_UINTEGER},
    {"task", DUCKDB_TYPE_UINTEGER},
    {"stack", DUCKDB_TYPE_UINTEGER},
    {"time_unix_ms", DUCKDB_TYPE_BIGINT},
    {"value", DUCKDB_TYPE_BIGINT},
    {"count", DUCKDB_TYPE_BIGINT},
    {"weight", DUCKDB_TYPE_FLOAT},
}};

// The names in quotes, by commas: of a set of columns.
std::string RowColumnList(uint32_t columns);

// A view of a chunk that has this set of columns, in their order.
RowColumns ViewRows(const Chunk& chunk, uint32_t columns);
// Errors: Corrupt when the answer has other types.
base::Result<void> CheckRowTypes(ResultStream* stream, uint32_t columns,
                                 const std::string& subject);

// COPY (query) TO path in the query's order, as sealed files are written; synced. Units: returns
// the rows.
base::Result<uint64_t> CopyRows(Connection* connection, const std::string& query,
                                const std::string& path, const std::atomic<bool>* cancelled);
// COPY (query) TO path, sorted, as sealed files are written; synced. Units: returns the rows.
base::Result<uint64_t> CopySorted(Connection* connection, const std::string& query,
                                  const std::string& path, const std::atomic<bool>* cancelled);

}  // namespace vesta::store::duck
