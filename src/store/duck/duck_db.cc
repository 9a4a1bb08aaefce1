#include "src/store/duck/duck_db.h"

#include <utility>

#include "src/store/duck/duck_handles.h"
#include "src/store/duck/row_scan.h"

namespace vesta::store::duck {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<std::shared_ptr<DuckInstance>> StartInstance(const DuckSettings& settings) {
  ASSIGN_OR_RETURN(const DuckLibrary* library, LoadDuckLibrary());
  const std::pair<const char*, std::string> options[] = {
      {"memory_limit", std::to_string(settings.memory_bytes_max) + "B"},
      {"threads", std::to_string(settings.threads)},
      {"temp_directory", settings.temporary_folder},
      // All that we use is built in (core functions, parquet); nothing is fetched.
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"allow_community_extensions", "false"},
      // The kernel's page cache has the same bytes already.
      {"enable_external_file_cache", "false"},
      // Readers rely on the order of sorted files.
      {"preserve_insertion_order", "true"},
      // Never by itself: inside a COMMIT it could fail after the commit is durable.
      {"checkpoint_threshold", "1000TB"},
  };
  Owned<duckdb_config> config(library->destroy_config);
  if (library->create_config(config.address()) != DuckDBSuccess) {
    return Error(ErrorCode::kInternal, "DuckDB gives no settings");
  }
  for (const auto& [name, value] : options) {
    if (library->set_config(config.get(), name, value.c_str()) != DuckDBSuccess) {
      return Error(ErrorCode::kInternal, std::string("DuckDB does not take the setting ") + name);
    }
  }
  auto instance = std::make_shared<DuckInstance>();
  instance->library = library;
  instance->database = Owned<duckdb_database>(library->close);
  char* message = nullptr;
  if (library->open_ext(":memory:", instance->database.address(), config.get(), &message) !=
      DuckDBSuccess) {
    const std::string text = message == nullptr ? "" : message;
    library->free(message);
    return Error(ErrorCode::kInternal, "DuckDB does not start: " + text);
  }
  // Settings that only a running instance knows. Footers of sealed files are read once; they never
  // change under their name.
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Connection::Open(instance));
  for (const char* sql :
       {"SET GLOBAL parquet_metadata_cache = true",
        "SET GLOBAL allowed_configs = ['max_temp_directory_size', 'memory_limit']",
        "SET GLOBAL lock_configuration = true"}) {
    RETURN_IF_ERROR(connection->Run(sql, "settings"));
  }
  RETURN_IF_ERROR(RegisterRowScan(connection.get()));
  return instance;
}

DuckDb::DuckDb(std::unique_ptr<DuckState> state) : state_(std::move(state)) {}
DuckDb::~DuckDb() = default;

Result<std::unique_ptr<DuckDb>> DuckDb::Open(const DuckSettings& settings) {
  auto state = std::make_unique<DuckState>(settings);
  RETURN_IF_ERROR(state->Instance());
  return std::unique_ptr<DuckDb>(new DuckDb(std::move(state)));
}

Result<void> DuckDb::LimitSpill(uint64_t bytes_max) {
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, state_->Instance());
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                   Connection::Open(std::move(instance)));
  RETURN_IF_ERROR(
      connection->Run("SET GLOBAL max_temp_directory_size = '" + std::to_string(bytes_max) + "B'",
                      "the temporary folder"));
  return {};
}

}  // namespace vesta::store::duck
