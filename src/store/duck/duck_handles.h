// DuckDB's handles as objects that close themselves, and its errors as ours.
#pragma once

#include <duckdb.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/store/duck/duck_db.h"
#include "src/store/duck/duck_library.h"
#include "src/store/store.h"

namespace vesta::store::duck {

// Closes by a function of the library that takes the address of the handle.
template <typename Handle>
class Owned {
 public:
  using Closer = void (*)(Handle*);
  Owned() = default;
  explicit Owned(Closer close) : close_(close) {}
  Owned(Closer close, Handle handle) : close_(close), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : close_(other.close_), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(close_, other.close_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { Reset(); }

  void Reset() {
    if (handle_ != Handle{}) close_(&handle_);
    handle_ = Handle{};
  }
  Handle get() const { return handle_; }
  Handle* address() { return &handle_; }

 private:
  Closer close_ = nullptr;
  Handle handle_{};
};

// What DuckDB says, as ours. `subject` (a file) stands in front.
// Errors of DuckDB that tell of bytes which do not follow their format are Corrupt.
base::Error ToError(duckdb_error_type type, std::string_view message, const std::string& subject);

// A running DuckDB. An error that its authors hold for impossible makes it refuse all further work;
// damaged files can lead there.
struct DuckInstance {
  const DuckLibrary* library = nullptr;
  Owned<duckdb_database> database;
  std::atomic<bool> is_broken = false;
};

base::Result<std::shared_ptr<DuckInstance>> StartInstance(const DuckSettings& settings);

// What DuckDb hides: the instance in use, replaced when it broke.
class DuckState {
 public:
  explicit DuckState(DuckSettings settings) : settings_(std::move(settings)) {}
  base::Result<std::shared_ptr<DuckInstance>> Instance();
  const DuckSettings& settings() const { return settings_; }

 private:
  const DuckSettings settings_;
  std::mutex mutex_;
  std::shared_ptr<DuckInstance> instance_;
};

class Chunk {
 public:
  Chunk(const DuckLibrary* library, duckdb_data_chunk chunk)
      : library_(library), chunk_(library->destroy_data_chunk, chunk) {}
  size_t row_count() const { return library_->data_chunk_get_size(chunk_.get()); }
  duckdb_vector vector(size_t column) const {
    return library_->data_chunk_get_vector(chunk_.get(), column);
  }
  // The values of a column of fixed width.
  template <typename T>
  const T* values(size_t column) const {
    return static_cast<const T*>(library_->vector_get_data(vector(column)));
  }
  template <typename T>
  T* writable(size_t column) {
    return static_cast<T*>(library_->vector_get_data(vector(column)));
  }
  // A BLOB or VARCHAR. Lives as long as the chunk.
  std::string_view bytes(size_t column, size_t row) const;
  bool is_null(size_t column, size_t row) const;
  duckdb_data_chunk get() const { return chunk_.get(); }

 private:
  const DuckLibrary* library_;
  Owned<duckdb_data_chunk> chunk_;
};

class Connection;

// The answer to a query, chunk by chunk, while the query still runs.
// Cost: limits are looked at between DuckDB's tasks and chunks, which are short for scans, sorts
//       and aggregates; a join without an equality could run on for minutes, so use none.
class ResultStream {
 public:
  ResultStream(ResultStream&& other) noexcept;
  ResultStream& operator=(ResultStream&&) = delete;
  ~ResultStream();
  // The next chunk with rows, nothing at the end.
  base::Result<std::unique_ptr<Chunk>> Next();
  duckdb_type column_type(size_t column);
  // Beside, a list must be one of u32.
  bool HasType(size_t column, duckdb_type type);

 private:
  friend class Connection;
  ResultStream(Connection* connection, std::string subject, const ReadLimits& limits);
  base::Result<void> Start(const std::string& sql);
  base::Result<void> CheckPatience() const;
  base::Error PendingError() const;

  Connection* connection_;
  std::string subject_;
  ReadLimits limits_;
  Owned<duckdb_prepared_statement> statement_;
  Owned<duckdb_pending_result> pending_;
  duckdb_result result_{};
  bool has_result_ = false;
};

// Owner: one thread at a time; streams of it must end first.
class Connection {
 public:
  static base::Result<std::unique_ptr<Connection>> Open(std::shared_ptr<DuckInstance> instance);

  const DuckLibrary& library() const { return *instance_->library; }
  duckdb_connection get() const { return connection_.get(); }
  std::shared_ptr<DuckInstance> shared_instance() const { return instance_; }

  // Runs a statement to its end. Units: returns the rows that it changed or wrote.
  base::Result<uint64_t> Run(const std::string& sql, const std::string& subject);
  base::Result<ResultStream> Query(const std::string& sql, const std::string& subject,
                                   const ReadLimits& limits = {});

  // As ToError, and remembers when the instance broke.
  base::Error MakeError(duckdb_error_type type, std::string_view message,
                        const std::string& subject);

 private:
  explicit Connection(std::shared_ptr<DuckInstance> instance);
  std::shared_ptr<DuckInstance> instance_;
  Owned<duckdb_connection> connection_;
};

// Adds rows to a table, chunk by chunk.
class Appender {
 public:
  // The subject is named by errors.
  static base::Result<std::unique_ptr<Appender>> Open(Connection* connection, const char* catalog,
                                                      const std::string& table,
                                                      const std::vector<duckdb_type>& columns,
                                                      std::string subject);
  ~Appender();
  // The chunk to fill, empty. Units: up to capacity() rows.
  Chunk& chunk() { return *chunk_; }
  size_t capacity() const { return capacity_; }
  base::Result<void> AppendChunk(size_t row_count);
  // Empties the chunk, which only columns that are not of fixed width need.
  void Reset() { connection_->library().data_chunk_reset(chunk_->get()); }
  // Checks what a single function of the row interface says.
  base::Result<void> Check(duckdb_state state);
  // Hands all to the table, in the transaction of the connection.
  base::Result<void> Flush();
  // Forgets what was not flushed.
  void Clear();
  duckdb_appender get() const { return appender_; }

 private:
  explicit Appender(Connection* connection, std::string subject);
  Connection* connection_;
  std::string subject_;
  duckdb_appender appender_ = nullptr;
  std::unique_ptr<Chunk> chunk_;
  size_t capacity_ = 0;
};

// A text as a literal of SQL.
std::string SqlText(std::string_view text);
// A path that reads this one file although it may have characters of patterns, as a literal.
std::string SqlReadPath(const std::string& path);

// Makes a file durable. Errors: as errno says.
base::Result<void> SyncFile(const std::string& path);

}  // namespace vesta::store::duck
