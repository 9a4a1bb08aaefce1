#include "src/store/duck/duck_handles.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "src/base/descriptor.h"

namespace vesta::store::duck {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// How long to wait when other threads do all that there is to do.
constexpr auto kIdleWait = std::chrono::microseconds(100);

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The C interface keeps errno only inside the text of an I/O error.
ErrorCode CodeOfIo(std::string_view message) {
  for (const std::string_view text :
       {"No space left", "Disk quota", "out-of-disk", "Read-only file system", "File too large",
        "Too many open files", "lock on file", "Failed to create directory"}) {
    if (Has(message, text)) return ErrorCode::kUnavailable;
  }
  if (Has(message, "Permission denied")) return ErrorCode::kPermission;
  if (Has(message, "No such file") || Has(message, "No files found") ||
      Has(message, "does not exist")) {
    return ErrorCode::kNotFound;
  }
  if (Has(message, "version number")) return ErrorCode::kUnsupported;
  // A file that is cut is told as "Could not read enough bytes".
  if (Has(message, "Cannot open file") || Has(message, "Could not read from file") ||
      Has(message, "Could not write") || Has(message, "Could not sync") ||
      Has(message, "fsync failed") || Has(message, "Input/output error")) {
    return ErrorCode::kUnavailable;
  }
  return ErrorCode::kCorrupt;
}

ErrorCode CodeOf(duckdb_error_type type, std::string_view message) {
  if (Has(message, "Out of Memory Error")) type = DUCKDB_ERROR_OUT_OF_MEMORY;
  switch (type) {
    case DUCKDB_ERROR_OUT_OF_MEMORY:
      // Its folder for spills being full is told like this, too.
      return Has(message, "No space left") ? ErrorCode::kUnavailable : ErrorCode::kExhausted;
    case DUCKDB_ERROR_INTERRUPT:
      return ErrorCode::kUnavailable;
    case DUCKDB_ERROR_PERMISSION:
      return ErrorCode::kPermission;
    case DUCKDB_ERROR_IO:
    case DUCKDB_ERROR_FATAL:
    case DUCKDB_ERROR_TRANSACTION:
      return CodeOfIo(message);
    case DUCKDB_ERROR_PARSER:
    case DUCKDB_ERROR_SYNTAX:
    case DUCKDB_ERROR_SETTINGS:
    case DUCKDB_INVALID_CONFIGURATION:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kCorrupt;
  }
}

}  // namespace

Error ToError(duckdb_error_type type, std::string_view message, const std::string& subject) {
  // The rest is a stack trace or the text of our own statement.
  std::string first_line(message.substr(0, message.find('\n')));
  return Error(CodeOf(type, message), subject.empty() ? first_line : subject + ": " + first_line);
}

Result<std::shared_ptr<DuckInstance>> DuckState::Instance() {
  const std::lock_guard lock(mutex_);
  if (instance_ == nullptr || instance_->is_broken) {
    ASSIGN_OR_RETURN(instance_, StartInstance(settings_));
  }
  return instance_;
}

std::string_view Chunk::bytes(size_t column, size_t row) const {
  auto* text = &static_cast<duckdb_string_t*>(library_->vector_get_data(vector(column)))[row];
  return {library_->string_t_data(text), library_->string_t_length(*text)};
}

bool Chunk::is_null(size_t column, size_t row) const {
  uint64_t* validity = library_->vector_get_validity(vector(column));
  return validity != nullptr && !library_->validity_row_is_valid(validity, row);
}

ResultStream::ResultStream(Connection* connection, std::string subject, const ReadLimits& limits)
    : connection_(connection),
      subject_(std::move(subject)),
      limits_(limits),
      statement_(connection->library().destroy_prepare),
      pending_(connection->library().destroy_pending) {}

ResultStream::ResultStream(ResultStream&& other) noexcept
    : connection_(other.connection_),
      subject_(std::move(other.subject_)),
      limits_(other.limits_),
      statement_(std::move(other.statement_)),
      pending_(std::move(other.pending_)),
      result_(other.result_),
      has_result_(std::exchange(other.has_result_, false)) {}

ResultStream::~ResultStream() {
  if (has_result_) connection_->library().destroy_result(&result_);
}

Result<void> ResultStream::CheckPatience() const {
  if (limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed)) {
    return Error(ErrorCode::kUnavailable, "cancelled");
  }
  if (limits_.deadline != std::chrono::steady_clock::time_point::max() &&
      std::chrono::steady_clock::now() >= limits_.deadline) {
    return Error(ErrorCode::kExhausted,
                 "the time for this query is over: ask for a shorter range or fewer series");
  }
  return {};
}

// Only the text tells the type here.
Error ResultStream::PendingError() const {
  const char* message = connection_->library().pending_error(pending_.get());
  return connection_->MakeError(DUCKDB_ERROR_IO, message == nullptr ? "" : message, subject_);
}

Result<void> ResultStream::Start(const std::string& sql) {
  const DuckLibrary& library = connection_->library();
  if (library.prepare(connection_->get(), sql.c_str(), statement_.address()) != DuckDBSuccess) {
    // This interface gives no type. What can go wrong with statements of ours is the file.
    const char* message = library.prepare_error(statement_.get());
    return connection_->MakeError(DUCKDB_ERROR_IO, message == nullptr ? "" : message, subject_);
  }
  if (library.pending_prepared_streaming(statement_.get(), pending_.address()) != DuckDBSuccess) {
    return PendingError();
  }
  for (;;) {
    if (auto patience = CheckPatience(); !patience.ok()) {
      // Run to its early end: a query that is thrown away while another thread works on it leaks.
      library.interrupt(connection_->get());
      has_result_ = true;
      (void)library.execute_pending(pending_.get(), &result_);
      return patience;
    }
    const duckdb_pending_state state = library.pending_execute_task(pending_.get());
    if (state == DUCKDB_PENDING_RESULT_READY) break;
    if (state == DUCKDB_PENDING_ERROR) return PendingError();
    if (state == DUCKDB_PENDING_NO_TASKS_AVAILABLE) std::this_thread::sleep_for(kIdleWait);
  }
  has_result_ = true;
  if (library.execute_pending(pending_.get(), &result_) != DuckDBSuccess) {
    return connection_->MakeError(library.result_error_type(&result_),
                                  library.result_error(&result_), subject_);
  }
  return {};
}

Result<std::unique_ptr<Chunk>> ResultStream::Next() {
  const DuckLibrary& library = connection_->library();
  for (;;) {
    RETURN_IF_ERROR(CheckPatience());
    duckdb_data_chunk chunk = library.fetch_chunk(result_);
    if (chunk == nullptr) {
      const char* message = library.result_error(&result_);
      if (message != nullptr) {
        return connection_->MakeError(library.result_error_type(&result_), message, subject_);
      }
      return std::unique_ptr<Chunk>();
    }
    auto owned = std::make_unique<Chunk>(&library, chunk);
    if (owned->row_count() > 0) return owned;
  }
}

duckdb_type ResultStream::column_type(size_t column) {
  return connection_->library().column_type(&result_, column);
}

bool ResultStream::HasType(size_t column, duckdb_type type) {
  if (column_type(column) != type) return false;
  if (type != DUCKDB_TYPE_LIST) return true;
  const DuckLibrary& library = connection_->library();
  Owned<duckdb_logical_type> list(library.destroy_logical_type,
                                  library.column_logical_type(&result_, column));
  Owned<duckdb_logical_type> element(library.destroy_logical_type,
                                     library.list_type_child_type(list.get()));
  return library.get_type_id(element.get()) == DUCKDB_TYPE_UINTEGER;
}

Connection::Connection(std::shared_ptr<DuckInstance> instance)
    : instance_(std::move(instance)), connection_(instance_->library->disconnect) {}

Result<std::unique_ptr<Connection>> Connection::Open(std::shared_ptr<DuckInstance> instance) {
  std::unique_ptr<Connection> made(new Connection(std::move(instance)));
  if (made->library().connect(made->instance_->database.get(), made->connection_.address()) !=
      DuckDBSuccess) {
    return Error(ErrorCode::kInternal, "DuckDB gives no connection");
  }
  return made;
}

Result<uint64_t> Connection::Run(const std::string& sql, const std::string& subject) {
  duckdb_result result{};
  const duckdb_state state = library().query(get(), sql.c_str(), &result);
  Result<uint64_t> outcome = uint64_t{library().rows_changed(&result)};
  if (state != DuckDBSuccess) {
    const char* message = library().result_error(&result);
    outcome =
        MakeError(library().result_error_type(&result), message == nullptr ? "" : message, subject);
  }
  library().destroy_result(&result);
  return outcome;
}

Result<ResultStream> Connection::Query(const std::string& sql, const std::string& subject,
                                       const ReadLimits& limits) {
  ResultStream stream(this, subject, limits);
  RETURN_IF_ERROR(stream.Start(sql));
  return stream;
}

Error Connection::MakeError(duckdb_error_type type, std::string_view message,
                            const std::string& subject) {
  if (type == DUCKDB_ERROR_FATAL || type == DUCKDB_ERROR_INTERNAL ||
      Has(message, "has been invalidated") || Has(message, "INTERNAL Error") ||
      Has(message, "FATAL Error")) {
    instance_->is_broken = true;
  }
  return ToError(type, message, subject);
}

Appender::Appender(Connection* connection, std::string subject)
    : connection_(connection), subject_(std::move(subject)) {}

Appender::~Appender() {
  // Else destroying it would write what is left.
  Clear();
  connection_->library().appender_destroy(&appender_);
}

Result<std::unique_ptr<Appender>> Appender::Open(Connection* connection, const char* catalog,
                                                 const std::string& table,
                                                 const std::vector<duckdb_type>& columns,
                                                 std::string subject) {
  const DuckLibrary& library = connection->library();
  std::unique_ptr<Appender> made(new Appender(connection, std::move(subject)));
  RETURN_IF_ERROR(made->Check(library.appender_create_ext(connection->get(), catalog, "main",
                                                          table.c_str(), &made->appender_)));
  std::vector<Owned<duckdb_logical_type>> owned;
  std::vector<duckdb_logical_type> types;
  for (const duckdb_type column : columns) {
    // A list here is one of u32.
    if (column == DUCKDB_TYPE_LIST) {
      Owned<duckdb_logical_type> element(library.destroy_logical_type,
                                         library.create_logical_type(DUCKDB_TYPE_UINTEGER));
      owned.emplace_back(library.destroy_logical_type, library.create_list_type(element.get()));
    } else {
      owned.emplace_back(library.destroy_logical_type, library.create_logical_type(column));
    }
    types.push_back(owned.back().get());
  }
  made->chunk_ =
      std::make_unique<Chunk>(&library, library.create_data_chunk(types.data(), types.size()));
  made->capacity_ = library.vector_size();
  return made;
}

Result<void> Appender::Check(duckdb_state state) {
  if (state == DuckDBSuccess) return {};
  const DuckLibrary& library = connection_->library();
  Owned<duckdb_error_data> error(library.destroy_error_data,
                                 library.appender_error_data(appender_));
  const char* message = library.error_data_message(error.get());
  return connection_->MakeError(library.error_data_error_type(error.get()),
                                message == nullptr ? "" : message, subject_);
}

Result<void> Appender::AppendChunk(size_t row_count) {
  connection_->library().data_chunk_set_size(chunk_->get(), row_count);
  RETURN_IF_ERROR(Check(connection_->library().append_data_chunk(appender_, chunk_->get())));
  return {};
}

Result<void> Appender::Flush() { return Check(connection_->library().appender_flush(appender_)); }

void Appender::Clear() { connection_->library().appender_clear(appender_); }

std::string SqlText(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

std::string SqlReadPath(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[') {
      pattern += {'[', c, ']'};
    } else {
      pattern += c;
    }
  }
  return SqlText(pattern);
}

Result<void> SyncFile(const std::string& path) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0 || ::fsync(file.fd()) != 0) return base::ErrnoError("syncing " + path, errno);
  return {};
}

}  // namespace vesta::store::duck
