#include "src/store/duck/parquet_rows.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "src/store/duck/duck_handles.h"
#include "src/store/duck/parquet_scan.h"
#include "src/store/duck/row_chunk.h"
#include "src/store/duck/row_scan.h"

namespace vesta::store::duck {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// Longer lists are not sent as text: DuckDB reads from the least to the greatest, and we filter.
constexpr size_t kListedSeriesMax = 16;

// Gives ids their new numbers; keeps the memory for the next rows.
class IdMapping {
 public:
  // False when an id is beyond the map.
  bool Apply(std::span<const uint32_t> map, std::span<const uint32_t>* ids) {
    if (map.empty()) return true;
    mapped_.resize(ids->size());
    for (size_t i = 0; i < ids->size(); ++i) {
      const uint32_t id = (*ids)[i];
      if (id >= map.size()) return false;
      mapped_[i] = map[id];
    }
    *ids = mapped_;
    return true;
  }

 private:
  std::vector<uint32_t> mapped_;
};

bool HasMapping(const CompactInput& input) {
  return !input.type.empty() || !input.series.empty() || !input.task.empty() ||
         !input.stack.empty();
}

// A file, chunk by chunk, with all columns.
class RowChunks {
 public:
  static Result<RowChunks> Open(const DuckDb& db, const std::string& path,
                                const std::atomic<bool>* cancelled) {
    ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, db.state().Instance());
    ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(std::move(instance)));
    ReadLimits limits;
    limits.cancelled = cancelled;
    ASSIGN_OR_RETURN(ResultStream stream, connection->Query("SELECT " + RowColumnList(kAllColumns) +
                                                                " FROM " + ScanParquet(path),
                                                            path, limits));
    RETURN_IF_ERROR(CheckRowTypes(&stream, kAllColumns, path));
    return RowChunks(std::move(connection), std::move(stream));
  }
  // No rows = the end. They live until the next call.
  Result<RowColumns> Next() {
    ASSIGN_OR_RETURN(chunk_, stream_.Next());
    if (chunk_ == nullptr) return RowColumns{};
    return ViewRows(*chunk_, kAllColumns);
  }

 private:
  RowChunks(std::unique_ptr<Connection> connection, ResultStream stream)
      : connection_(std::move(connection)), stream_(std::move(stream)) {}
  std::unique_ptr<Connection> connection_;
  ResultStream stream_;
  std::unique_ptr<Chunk> chunk_;
};

// The rows of several files, one after the other, with their new numbers.
class MappedRows {
 public:
  MappedRows(const DuckDb& db, std::span<const CompactInput> inputs,
             const std::atomic<bool>* cancelled)
      : db_(db), inputs_(inputs), cancelled_(cancelled) {}

  Result<RowColumns> Next() {
    for (;;) {
      if (!chunks_) {
        if (at_ == inputs_.size()) return RowColumns{};
        ASSIGN_OR_RETURN(RowChunks chunks, RowChunks::Open(db_, inputs_[at_].path, cancelled_));
        chunks_.emplace(std::move(chunks));
      }
      ASSIGN_OR_RETURN(RowColumns rows, chunks_->Next());
      if (rows.row_count == 0) {
        chunks_.reset();
        ++at_;
        continue;
      }
      const CompactInput& input = inputs_[at_];
      if (!type_.Apply(input.type, &rows.type) || !series_.Apply(input.series, &rows.series) ||
          !task_.Apply(input.task, &rows.task) || !stack_.Apply(input.stack, &rows.stack)) {
        return Error(ErrorCode::kCorrupt,
                     input.path + ": has an id that its dictionary does not have");
      }
      return rows;
    }
  }

 private:
  const DuckDb& db_;
  std::span<const CompactInput> inputs_;
  const std::atomic<bool>* cancelled_;
  size_t at_ = 0;
  std::optional<RowChunks> chunks_;  // of inputs_[at_]
  IdMapping type_, series_, task_, stack_;
};

Result<uint64_t> CompactMapped(const DuckDb& db, std::span<const CompactInput> inputs,
                               const std::string& path, const std::atomic<bool>* cancelled) {
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, db.state().Instance());
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                   Connection::Open(std::move(instance)));
  MappedRows rows(db, inputs, cancelled);
  const RowSource next = [&rows] { return rows.Next(); };
  RowScan scan(next);
  auto written = CopySorted(connection.get(), "FROM " + scan.Sql(), path, cancelled);
  RETURN_IF_ERROR(scan.TakeError());
  return written;
}

std::string NumberList(std::span<const uint32_t> numbers) {
  std::string list;
  for (const uint32_t number : numbers) {
    if (!list.empty()) list += ",";
    list += std::to_string(number);
  }
  return list;
}

std::string Condition(const ParquetRead& read) {
  std::string where = " WHERE \"type\" IN (" + NumberList(read.types) + ")";
  if (read.every_series) {
  } else if (read.series.size() <= kListedSeriesMax) {
    where += " AND series IN (" + NumberList(read.series) + ")";
  } else {
    where += " AND series BETWEEN " + std::to_string(read.series.front()) + " AND " +
             std::to_string(read.series.back());
  }
  if (read.range.from_unix_ms != std::numeric_limits<int64_t>::min()) {
    where += " AND time_unix_ms >= " + std::to_string(read.range.from_unix_ms);
  }
  if (read.range.to_unix_ms != std::numeric_limits<int64_t>::max()) {
    where += " AND time_unix_ms < " + std::to_string(read.range.to_unix_ms);
  }
  return where;
}

// Keeps the rows of a long list of series.
class SeriesFilter {
 public:
  explicit SeriesFilter(std::span<const uint32_t> series)
      : first_(series.front()), is_kept_(size_t{series.back()} - series.front() + 1) {
    for (const uint32_t id : series) is_kept_[id - first_] = true;
  }

  RowColumns Apply(RowColumns rows) {
    kept_.clear();
    for (size_t i = 0; i < rows.row_count; ++i) {
      if (is_kept_[rows.series[i] - first_]) kept_.push_back(i);
    }
    if (kept_.size() == rows.row_count) return rows;
    rows.row_count = kept_.size();
    Choose(&rows.type, &type_);
    Choose(&rows.series, &series_);
    Choose(&rows.task, &task_);
    Choose(&rows.stack, &stack_);
    Choose(&rows.time_unix_ms, &time_);
    Choose(&rows.value, &value_);
    Choose(&rows.count, &count_);
    Choose(&rows.weight, &weight_);
    return rows;
  }

 private:
  template <typename T>
  void Choose(std::span<const T>* values, std::vector<T>* chosen) {
    if (values->empty()) return;
    chosen->clear();
    for (const size_t i : kept_) chosen->push_back((*values)[i]);
    *values = *chosen;
  }

  uint32_t first_;
  std::vector<bool> is_kept_;
  std::vector<size_t> kept_;
  std::vector<uint32_t> type_, series_, task_, stack_;
  std::vector<int64_t> time_, value_, count_;
  std::vector<float> weight_;
};

}  // namespace

Result<uint64_t> SealRows(const DuckDb& db, const RowSource& rows, const std::string& path) {
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, db.state().Instance());
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                   Connection::Open(std::move(instance)));
  RowScan scan(rows);
  auto written = CopyRows(connection.get(), "FROM " + scan.Sql(), path, nullptr);
  RETURN_IF_ERROR(scan.TakeError());
  return written;
}

Result<uint64_t> CompactRows(const DuckDb& db, std::span<const CompactInput> inputs,
                             const std::string& path, const std::atomic<bool>* cancelled) {
  if (inputs.empty() || std::any_of(inputs.begin(), inputs.end(), HasMapping)) {
    return CompactMapped(db, inputs, path, cancelled);
  }
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, db.state().Instance());
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                   Connection::Open(std::move(instance)));
  std::vector<std::string> files;
  for (const CompactInput& input : inputs) files.push_back(input.path);
  auto written = CopySorted(connection.get(),
                            "SELECT " + RowColumnList(kAllColumns) + " FROM " + ScanParquet(files),
                            path, cancelled);
  if (written.ok() || written.error().code() != ErrorCode::kCorrupt) return written;
  // Which of them it was decides what is set aside.
  for (const CompactInput& input : inputs) {
    ASSIGN_OR_RETURN(RowChunks chunks, RowChunks::Open(db, input.path, cancelled));
    for (;;) {
      ASSIGN_OR_RETURN(const RowColumns rows, chunks.Next());
      if (rows.row_count == 0) break;
    }
  }
  return written;
}

Result<ParquetSummary> SummarizeRows(const DuckDb& db, const std::string& path) {
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, db.state().Instance());
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                   Connection::Open(std::move(instance)));
  const std::string file = SqlReadPath(path);
  ParquetSummary summary;
  ASSIGN_OR_RETURN(ResultStream counts,
                   connection->Query("SELECT num_rows::BIGINT, num_row_groups::BIGINT"
                                     " FROM parquet_file_metadata(" +
                                         file + ")",
                                     path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> counted, counts.Next());
  if (counted == nullptr) return Error(ErrorCode::kCorrupt, path + ": has no footer");
  summary.rows = static_cast<uint64_t>(*counted->values<int64_t>(0));
  summary.row_groups = static_cast<uint64_t>(*counted->values<int64_t>(1));
  if (summary.rows == 0) return summary;
  const auto bound = [](const std::string& end, const std::string& column) {
    return end + "(stats_" + end + "_value::BIGINT) FILTER (path_in_schema = '" + column + "')";
  };
  std::string bounds;
  for (const char* column : {"time_unix_ms", "series"}) {
    bounds += bound("min", column) + ", " + bound("max", column) + ", ";
  }
  bounds += bound("max", "type") + ", " + bound("max", "task") + ", " + bound("max", "stack");
  ASSIGN_OR_RETURN(
      ResultStream statistics,
      connection->Query("SELECT " + bounds + " FROM parquet_metadata(" + file + ")", path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> row, statistics.Next());
  for (size_t i = 0; i < 7; ++i) {
    if (row == nullptr || row->is_null(i, 0)) {
      return Error(ErrorCode::kCorrupt, path + ": lacks statistics of its columns");
    }
  }
  summary.time_unix_ms_min = *row->values<int64_t>(0);
  summary.time_unix_ms_max = *row->values<int64_t>(1);
  summary.series_min = static_cast<uint32_t>(*row->values<int64_t>(2));
  summary.series_max = static_cast<uint32_t>(*row->values<int64_t>(3));
  summary.type_max = static_cast<uint32_t>(*row->values<int64_t>(4));
  summary.task_max = static_cast<uint32_t>(*row->values<int64_t>(5));
  summary.stack_max = static_cast<uint32_t>(*row->values<int64_t>(6));
  return summary;
}

Result<void> ReadRows(const DuckDb& db, const ParquetRead& read, const RowSink& sink) {
  if (read.types.empty() || (read.series.empty() && !read.every_series)) return {};
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, db.state().Instance());
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                   Connection::Open(std::move(instance)));
  const bool is_filtered = !read.every_series && read.series.size() > kListedSeriesMax;
  std::optional<SeriesFilter> filter;
  if (is_filtered) filter.emplace(read.series);
  const uint32_t columns = read.columns | (is_filtered ? kSeriesColumn : 0U);
  ASSIGN_OR_RETURN(ResultStream stream,
                   connection->Query("SELECT " + RowColumnList(columns) + " FROM " +
                                         ScanParquet(read.path) + Condition(read),
                                     read.path, read.limits));
  RETURN_IF_ERROR(CheckRowTypes(&stream, columns, read.path));
  for (;;) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> chunk, stream.Next());
    if (chunk == nullptr) return {};
    RowColumns rows = ViewRows(*chunk, columns);
    if (filter.has_value()) rows = filter->Apply(rows);
    if ((read.columns & kSeriesColumn) == 0) rows.series = {};
    if (rows.row_count > 0) RETURN_IF_ERROR(sink(rows));
  }
}

}  // namespace vesta::store::duck
