#include "src/store/duck/row_scan.h"

#include <algorithm>
#include <cstring>

#include "src/store/duck/row_chunk.h"

namespace vesta::store::duck {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr const char* kName = "vesta_rows";

// The library is loaded: it calls.
const DuckLibrary& Library() { return **LoadDuckLibrary(); }

void Bind(duckdb_bind_info info) {
  const DuckLibrary& library = Library();
  for (const RowColumn& column : kRowColumns) {
    Owned<duckdb_logical_type> type(library.destroy_logical_type,
                                    library.create_logical_type(column.type));
    library.bind_add_result_column(info, column.name, type.get());
  }
  Owned<duckdb_value> scan(library.destroy_value, library.bind_get_parameter(info, 0));
  // Only SQL of ours names this table.
  library.bind_set_bind_data(info, reinterpret_cast<void*>(library.get_uint64(scan.get())),
                             nullptr);
}

void Init(duckdb_init_info info) { Library().init_set_max_threads(info, 1); }

void FillNext(duckdb_function_info info, duckdb_data_chunk chunk) {
  const DuckLibrary& library = Library();
  static_cast<RowScan*>(library.function_get_bind_data(info))->Fill(library, info, chunk);
}

}  // namespace

std::string RowScan::Sql() const {
  return std::string(kName) + "(" + std::to_string(reinterpret_cast<uintptr_t>(this)) +
         "::UBIGINT)";
}

void RowScan::Fill(const DuckLibrary& library, duckdb_function_info info, duckdb_data_chunk chunk) {
  if (given_ == rows_.row_count) {
    auto next = next_();
    if (!next.ok()) {
      library.function_set_error(info, next.error().message().c_str());
      error_ = std::move(next).error();
      return;
    }
    rows_ = *next;
    given_ = 0;
  }
  const size_t count = std::min<size_t>(library.vector_size(), rows_.row_count - given_);
  const auto copy = [&](size_t column, const auto& values) {
    void* to = library.vector_get_data(library.data_chunk_get_vector(chunk, column));
    if (count > 0) std::memcpy(to, values.data() + given_, count * sizeof(values[0]));
  };
  copy(0, rows_.type);
  copy(1, rows_.series);
  copy(2, rows_.task);
  copy(3, rows_.stack);
  copy(4, rows_.time_unix_ms);
  copy(5, rows_.value);
  copy(6, rows_.count);
  copy(7, rows_.weight);
  library.data_chunk_set_size(chunk, count);
  given_ += count;
}

Result<void> RegisterRowScan(Connection* connection) {
  const DuckLibrary& library = connection->library();
  Owned<duckdb_table_function> function(library.destroy_table_function,
                                        library.create_table_function());
  Owned<duckdb_logical_type> address(library.destroy_logical_type,
                                     library.create_logical_type(DUCKDB_TYPE_UBIGINT));
  library.table_function_set_name(function.get(), kName);
  library.table_function_add_parameter(function.get(), address.get());
  library.table_function_set_bind(function.get(), Bind);
  library.table_function_set_init(function.get(), Init);
  library.table_function_set_function(function.get(), FillNext);
  if (library.register_table_function(connection->get(), function.get()) != DuckDBSuccess) {
    return Error(ErrorCode::kInternal, "DuckDB does not take a table of ours");
  }
  return {};
}

}  // namespace vesta::store::duck
