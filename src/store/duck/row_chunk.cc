#include "src/store/duck/row_chunk.h"

namespace vesta::store::duck {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

template <typename T>
std::span<const T> ViewColumn(const Chunk& chunk, size_t column) {
  return {chunk.values<T>(column), chunk.row_count()};
}

}  // namespace

std::string RowColumnList(uint32_t columns) {
  std::string list;
  for (size_t i = 0; i < kRowColumns.size(); ++i) {
    if ((columns >> i & 1) == 0) continue;
    if (!list.empty()) list += ", ";
    list += std::string("\"") + kRowColumns[i].name + "\"";
  }
  return list;
}

RowColumns ViewRows(const Chunk& chunk, uint32_t columns) {
  RowColumns rows;
  rows.row_count = chunk.row_count();
  size_t next = 0;
  if (columns & kTypeColumn) rows.type = ViewColumn<uint32_t>(chunk, next++);
  if (columns & kSeriesColumn) rows.series = ViewColumn<uint32_t>(chunk, next++);
  if (columns & kTaskColumn) rows.task = ViewColumn<uint32_t>(chunk, next++);
  if (columns & kStackColumn) rows.stack = ViewColumn<uint32_t>(chunk, next++);
  if (columns & kTimeColumn) rows.time_unix_ms = ViewColumn<int64_t>(chunk, next++);
  if (columns & kValueColumn) rows.value = ViewColumn<int64_t>(chunk, next++);
  if (columns & kCountColumn) rows.count = ViewColumn<int64_t>(chunk, next++);
  if (columns & kWeightColumn) rows.weight = ViewColumn<float>(chunk, next++);
  return rows;
}

Result<void> CheckRowTypes(ResultStream* stream, uint32_t columns, const std::string& subject) {
  size_t next = 0;
  for (size_t i = 0; i < kRowColumns.size(); ++i) {
    if ((columns >> i & 1) == 0) continue;
    if (stream->column_type(next++) != kRowColumns[i].type) {
      return Error(ErrorCode::kCorrupt,
                   subject + ": column " + kRowColumns[i].name + " has another type");
    }
  }
  return {};
}

Result<uint64_t> CopySorted(Connection* connection, const std::string& query,
                            const std::string& path, const std::atomic<bool>* cancelled) {
  return CopyRows(connection, query + " ORDER BY \"type\", series, task, time_unix_ms, stack", path,
                  cancelled);
}

Result<uint64_t> CopyRows(Connection* connection, const std::string& query, const std::string& path,
                          const std::atomic<bool>* cancelled) {
  const std::string sql =
      "COPY (" + query + ") TO " + SqlText(path) +
      " (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, ROW_GROUP_SIZE 122880,"
      " USE_TMP_FILE false)";
  ReadLimits limits;
  limits.cancelled = cancelled;
  ASSIGN_OR_RETURN(ResultStream stream, connection->Query(sql, path, limits));
  ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> counted, stream.Next());
  if (counted == nullptr) return Error(ErrorCode::kInternal, path + ": COPY tells no count");
  RETURN_IF_ERROR(SyncFile(path));
  return static_cast<uint64_t>(*counted->values<int64_t>(0));
}

}  // namespace vesta::store::duck
