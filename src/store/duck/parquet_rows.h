// Sealed rows: Parquet files sorted by (type, series, task, time, stack), and reads that open only
// the row groups that can have what is asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/store/duck/duck_db.h"
#include "src/store/duck/row_columns.h"
#include "src/store/store.h"

namespace vesta::store::duck {

// Errors of all here: Corrupt naming the file, NotFound, Unavailable (disk), Exhausted (memory).

using RowSink = std::function<base::Result<void>(const RowColumns&)>;

// The next rows, all columns; none = the end. Views live until the next call.
using RowSource = std::function<base::Result<RowColumns>()>;

// Writes rows that come in the file's order, synced to disk. Units: returns the rows written.
// Cost:   memory for one row group, 6 MB.
// Errors: besides, what `rows` returns.
base::Result<uint64_t> SealRows(const DuckDb& db, const RowSource& rows, const std::string& path);

// A sorted file, and what its ids become: id -> element. Empty = they stay.
struct CompactInput {
  std::string path;
  std::span<const uint32_t> type;
  std::span<const uint32_t> series;
  std::span<const uint32_t> task;
  std::span<const uint32_t> stack;
};
// Makes one sorted file of several, synced to disk. Units: returns the rows written.
// Cost: what DuckDB's memory cannot hold goes to its temporary folder.
// Errors: besides, Corrupt when an id is beyond its mapping, Unavailable when `cancelled` was set.
base::Result<uint64_t> CompactRows(const DuckDb& db, std::span<const CompactInput> inputs,
                                   const std::string& path,
                                   const std::atomic<bool>* cancelled = nullptr);

struct ParquetSummary {
  uint64_t rows = 0;
  uint64_t row_groups = 0;
  int64_t time_unix_ms_min = 0;  // these are 0 in a file without rows
  int64_t time_unix_ms_max = 0;
  uint32_t series_min = 0;
  uint32_t series_max = 0;
  uint32_t type_max = 0;
  uint32_t task_max = 0;
  uint32_t stack_max = 0;
};
// From the footer alone.
base::Result<ParquetSummary> SummarizeRows(const DuckDb& db, const std::string& path);

struct ParquetRead {
  std::string path;
  std::span<const uint32_t> types;   // sorted, each once
  std::span<const uint32_t> series;  // sorted, each once
  bool every_series = false;         // instead of a list
  TimeRange range;
  uint32_t columns = kAllColumns;
  ReadLimits limits;  // the deadline and the flag; memory is bounded by DuckDB's limit
};
// Gives the rows in the file's order, in pieces.
// Errors: besides, Exhausted after the deadline, Unavailable when cancelled, what the sink returns.
base::Result<void> ReadRows(const DuckDb& db, const ParquetRead& read, const RowSink& sink);

}  // namespace vesta::store::duck
