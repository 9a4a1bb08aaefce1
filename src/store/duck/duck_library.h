// The functions of DuckDB's C interface that we use, from a library that is loaded when a store is
// first opened: linked, it costs every command 14 MB (docs/decisions/0009).
#pragma once

#include <duckdb.h>

#include "src/base/result.h"

namespace vesta::store::duck {

// clang-format off: it indents each line further.
#define VESTA_DUCKDB_FUNCTIONS(X)                                                            \
  X(library_version) X(create_config) X(set_config) X(destroy_config) X(open_ext) X(close)   \
  X(free) X(connect) X(disconnect) X(interrupt) X(query) X(destroy_result) X(result_error)   \
  X(result_error_type) X(rows_changed) X(prepare) X(prepare_error) X(destroy_prepare)        \
  X(pending_prepared_streaming) X(pending_execute_task) X(pending_error) X(execute_pending)  \
  X(destroy_pending) X(fetch_chunk) X(column_type) X(create_logical_type)                    \
  X(destroy_logical_type) X(create_list_type) X(create_data_chunk) X(destroy_data_chunk)     \
  X(data_chunk_reset) X(data_chunk_get_size) X(data_chunk_set_size) X(data_chunk_get_vector) \
  X(vector_size) X(vector_get_data) X(vector_get_validity)                                   \
  X(vector_assign_string_element_len) X(validity_row_is_valid) X(get_type_id)                \
  X(list_vector_get_child) X(list_vector_get_size) X(list_vector_set_size)                   \
  X(list_vector_reserve) X(list_type_child_type) X(string_t_length) X(string_t_data)         \
  X(appender_create_ext) X(appender_error_data) X(appender_flush) X(appender_clear)          \
  X(appender_destroy) X(appender_end_row) X(append_uint64) X(append_int64) X(append_blob)    \
  X(append_null) X(append_data_chunk) X(error_data_error_type) X(error_data_message)         \
  X(destroy_error_data) X(column_logical_type) X(create_table_function)                      \
  X(destroy_table_function) X(table_function_set_name) X(table_function_add_parameter)       \
  X(table_function_set_bind) X(table_function_set_init) X(table_function_set_function)       \
  X(register_table_function) X(bind_add_result_column) X(bind_get_parameter)                 \
  X(bind_set_bind_data) X(init_set_max_threads) X(function_get_bind_data)                    \
  X(function_set_error) X(get_uint64) X(destroy_value)
// clang-format on

struct DuckLibrary {
#define VESTA_DUCKDB_FUNCTION(name) decltype(&::duckdb_##name) name = nullptr;
  VESTA_DUCKDB_FUNCTIONS(VESTA_DUCKDB_FUNCTION)
#undef VESTA_DUCKDB_FUNCTION
};

// Searched: the file that VESTA_DUCKDB_LIBRARY names, and nothing else when it is set; beside the
// program; ../lib/vesta from there; where the system keeps libraries. Loaded once in a process.
// Errors: Unsupported without one or with another version, saying what to do.
base::Result<const DuckLibrary*> LoadDuckLibrary();

}  // namespace vesta::store::duck
