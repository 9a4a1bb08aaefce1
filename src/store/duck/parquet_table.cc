#include "src/store/duck/parquet_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "src/base/utf8.h"
#include "src/store/duck/duck_handles.h"
#include "src/store/duck/parquet_scan.h"

namespace vesta::store::duck {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

struct KindTypes {
  const char* sql;
  duckdb_type type;
};
// In the order of ColumnKind.
constexpr std::array<KindTypes, 7> kKinds = {{
    {"UINTEGER", DUCKDB_TYPE_UINTEGER},
    {"BIGINT", DUCKDB_TYPE_BIGINT},
    {"UBIGINT", DUCKDB_TYPE_UBIGINT},
    {"FLOAT", DUCKDB_TYPE_FLOAT},
    {"BOOLEAN", DUCKDB_TYPE_BOOLEAN},
    {"VARCHAR", DUCKDB_TYPE_VARCHAR},
    {"UINTEGER[]", DUCKDB_TYPE_LIST},
}};

const KindTypes& TypesOf(ColumnKind kind) { return kKinds[static_cast<size_t>(kind)]; }

bool IsName(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

std::string Quoted(const std::string& column) { return "\"" + column + "\""; }

// Numbers of a dictionary mostly rise or repeat their neighbours', which differences of integers
// catch better than pages of distinct values; the higher level takes off another tenth of texts.
constexpr std::string_view kCopyOptions =
    " (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 9, PARQUET_VERSION v2,"
    " DICTIONARY_SIZE_LIMIT 1, USE_TMP_FILE false)";

struct CountRows {
  size_t operator()(const Bools& bools) const { return bools.values.size(); }
  size_t operator()(const U32Lists& lists) const { return lists.ends.size(); }
  template <typename T>
  size_t operator()(const std::span<T>& span) const {
    return span.size();
  }
};

size_t RowsOf(const ColumnValues& values) { return std::visit(CountRows{}, values); }

// Writes rows [from, from + count) of a column into a chunk.
class ColumnFiller {
 public:
  ColumnFiller(const DuckLibrary& library, Chunk* chunk, size_t column, size_t from, size_t count)
      : library_(library), chunk_(chunk), column_(column), from_(from), count_(count) {}

  template <typename T>
  Result<void> operator()(std::span<const T> values) const {
    std::memcpy(chunk_->writable<T>(column_), values.data() + from_, count_ * sizeof(T));
    return {};
  }

  Result<void> operator()(const Bools& bools) const {
    bool* to = chunk_->writable<bool>(column_);
    for (size_t i = 0; i < count_; ++i) to[i] = bools.values[from_ + i] != 0;
    return {};
  }

  Result<void> operator()(std::span<const std::string_view> texts) const {
    duckdb_vector vector = chunk_->vector(column_);
    for (size_t i = 0; i < count_; ++i) {
      const std::string_view text = texts[from_ + i];
      if (!base::IsUtf8(text)) return Error(ErrorCode::kInvalidInput, "text that is not UTF-8");
      library_.vector_assign_string_element_len(vector, i, text.data(), text.size());
    }
    return {};
  }

  Result<void> operator()(const U32Lists& lists) const {
    const uint64_t begin = from_ == 0 ? 0 : lists.ends[from_ - 1];
    uint64_t start = begin;
    auto* entries = chunk_->writable<duckdb_list_entry>(column_);
    for (size_t i = 0; i < count_; ++i) {
      const uint64_t end = lists.ends[from_ + i];
      if (end < start || end > lists.values.size()) {
        return Error(ErrorCode::kInvalidInput, "lists whose ends do not fit their values");
      }
      entries[i] = {start - begin, end - start};
      start = end;
    }
    duckdb_vector vector = chunk_->vector(column_);
    const uint64_t size = start - begin;
    if (library_.list_vector_reserve(vector, size) != DuckDBSuccess ||
        library_.list_vector_set_size(vector, size) != DuckDBSuccess) {
      return Error(ErrorCode::kExhausted, "lists that are too long");
    }
    if (size > 0) {
      std::memcpy(library_.vector_get_data(library_.list_vector_get_child(vector)),
                  lists.values.data() + begin, size * sizeof(uint32_t));
    }
    return {};
  }

 private:
  const DuckLibrary& library_;
  Chunk* chunk_;
  size_t column_;
  size_t from_;
  size_t count_;
};

// Makes views of a chunk; keeps the memory that they need for the next one.
class ColumnViews {
 public:
  ColumnViews(const DuckLibrary& library, std::span<const ColumnSpec> columns)
      : library_(library),
        columns_(columns),
        texts_(columns.size()),
        ends_(columns.size()),
        values_(columns.size()) {}

  // False when there is a NULL, or a list that is not stored as they are.
  bool View(const Chunk& chunk, std::vector<ColumnValues>* views) {
    views->clear();
    const size_t rows = chunk.row_count();
    for (size_t i = 0; i < columns_.size(); ++i) {
      for (size_t row = 0; row < rows; ++row) {
        if (chunk.is_null(i, row)) return false;
      }
      switch (columns_[i].kind) {
        case ColumnKind::kU32:
          views->emplace_back(std::span(chunk.values<uint32_t>(i), rows));
          break;
        case ColumnKind::kI64:
          views->emplace_back(std::span(chunk.values<int64_t>(i), rows));
          break;
        case ColumnKind::kU64:
          views->emplace_back(std::span(chunk.values<uint64_t>(i), rows));
          break;
        case ColumnKind::kF32:
          views->emplace_back(std::span(chunk.values<float>(i), rows));
          break;
        case ColumnKind::kBool:
          views->emplace_back(Bools{std::span(chunk.values<uint8_t>(i), rows)});
          break;
        case ColumnKind::kString:
          texts_[i].clear();
          for (size_t row = 0; row < rows; ++row) texts_[i].push_back(chunk.bytes(i, row));
          views->emplace_back(std::span<const std::string_view>(texts_[i]));
          break;
        case ColumnKind::kU32List:
          if (!ViewLists(chunk, i)) return false;
          views->emplace_back(U32Lists{ends_[i], values_[i]});
          break;
      }
    }
    return true;
  }

 private:
  bool ViewLists(const Chunk& chunk, size_t column) {
    ends_[column].clear();
    values_[column].clear();
    duckdb_vector vector = chunk.vector(column);
    duckdb_vector child = library_.list_vector_get_child(vector);
    const uint64_t size = library_.list_vector_get_size(vector);
    const auto* values = static_cast<const uint32_t*>(library_.vector_get_data(child));
    uint64_t* validity = library_.vector_get_validity(child);
    for (size_t row = 0; row < chunk.row_count(); ++row) {
      const duckdb_list_entry entry = chunk.values<duckdb_list_entry>(column)[row];
      if (entry.offset > size || entry.length > size - entry.offset) return false;
      for (uint64_t i = entry.offset; i < entry.offset + entry.length; ++i) {
        if (validity != nullptr && !library_.validity_row_is_valid(validity, i)) return false;
        values_[column].push_back(values[i]);
      }
      ends_[column].push_back(values_[column].size());
    }
    return true;
  }

  const DuckLibrary& library_;
  std::span<const ColumnSpec> columns_;
  std::vector<std::vector<std::string_view>> texts_;
  std::vector<std::vector<uint64_t>> ends_;
  std::vector<std::vector<uint32_t>> values_;
};

}  // namespace

class ParquetTableWriter::State {
 public:
  State(std::vector<ColumnSpec> columns, std::unique_ptr<Connection> connection)
      : columns_(std::move(columns)), connection_(std::move(connection)) {}

  Result<void> MakeTable() {
    std::string sql;
    std::vector<duckdb_type> types;
    for (const ColumnSpec& column : columns_) {
      if (!IsName(column.name)) {
        return Error(ErrorCode::kInvalidInput, "'" + column.name + "' is no name of a column");
      }
      sql += (sql.empty() ? "CREATE TEMP TABLE writing(" : ", ") + Quoted(column.name) + " " +
             TypesOf(column.kind).sql + " NOT NULL";
      types.push_back(TypesOf(column.kind).type);
    }
    if (types.empty()) return Error(ErrorCode::kInvalidInput, "a table without columns");
    RETURN_IF_ERROR(connection_->Run(sql + ")", ""));
    ASSIGN_OR_RETURN(appender_, Appender::Open(connection_.get(), "temp", "writing", types, ""));
    return {};
  }

  Result<void> Append(std::span<const ColumnValues> columns) {
    const size_t rows = columns.empty() ? 0 : RowsOf(columns[0]);
    if (columns.size() != columns_.size()) {
      return Error(ErrorCode::kInvalidInput, "another number of columns than the table has");
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].index() != static_cast<size_t>(columns_[i].kind) ||
          RowsOf(columns[i]) != rows) {
        return Error(ErrorCode::kInvalidInput,
                     "column " + columns_[i].name + " has another type or number of rows");
      }
    }
    for (size_t from = 0; from < rows;) {
      const size_t count = std::min(appender_->capacity(), rows - from);
      // Texts and lists of the chunk before stay in it until then.
      appender_->Reset();
      for (size_t i = 0; i < columns.size(); ++i) {
        const ColumnFiller filler(connection_->library(), &appender_->chunk(), i, from, count);
        RETURN_IF_ERROR(std::visit(filler, columns[i]).Context("column " + columns_[i].name));
      }
      RETURN_IF_ERROR(appender_->AppendChunk(count));
      from += count;
    }
    return {};
  }

  Result<void> Finish(const std::string& path) {
    RETURN_IF_ERROR(appender_->Flush());
    std::string list;
    for (const ColumnSpec& column : columns_) {
      if (!list.empty()) list += ", ";
      list += column.null_as.empty() ? Quoted(column.name)
                                     : "nullif(" + Quoted(column.name) + ", " +
                                           Quoted(column.null_as) + ") AS " + Quoted(column.name);
    }
    RETURN_IF_ERROR(connection_->Run("COPY (SELECT " + list + " FROM temp.writing) TO " +
                                         SqlText(path) + std::string(kCopyOptions),
                                     path));
    return SyncFile(path);
  }

 private:
  const std::vector<ColumnSpec> columns_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Appender> appender_;
};

ParquetTableWriter::ParquetTableWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ParquetTableWriter::~ParquetTableWriter() = default;

Result<std::unique_ptr<ParquetTableWriter>> ParquetTableWriter::Create(
    const DuckDb& db, std::vector<ColumnSpec> columns) {
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, db.state().Instance());
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(std::move(instance)));
  auto state = std::make_unique<State>(std::move(columns), std::move(connection));
  RETURN_IF_ERROR(state->MakeTable());
  return std::unique_ptr<ParquetTableWriter>(new ParquetTableWriter(std::move(state)));
}

Result<void> ParquetTableWriter::Append(std::span<const ColumnValues> columns) {
  return state_->Append(columns);
}
Result<void> ParquetTableWriter::Finish(const std::string& path) { return state_->Finish(path); }

Result<void> ReadParquetTable(const DuckDb& db, const std::string& path,
                              std::span<const ColumnSpec> columns, const TableSink& sink) {
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, db.state().Instance());
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                   Connection::Open(std::move(instance)));
  std::string sql;
  for (const ColumnSpec& column : columns) {
    if (!IsName(column.name)) {
      return Error(ErrorCode::kInvalidInput, "'" + column.name + "' is no name of a column");
    }
    sql += sql.empty() ? "SELECT " : ", ";
    sql += column.null_as.empty()
               ? Quoted(column.name)
               : "coalesce(" + Quoted(column.name) + ", " + Quoted(column.null_as) + ")";
  }
  ASSIGN_OR_RETURN(ResultStream stream,
                   connection->Query(sql + " FROM " + ScanParquet(path), path));
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!stream.HasType(i, TypesOf(columns[i].kind).type)) {
      return Error(ErrorCode::kCorrupt, path + ": column " + columns[i].name + " has another type");
    }
  }
  ColumnViews views(connection->library(), columns);
  std::vector<ColumnValues> values;
  for (;;) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> chunk, stream.Next());
    if (chunk == nullptr) return {};
    if (!views.View(*chunk, &values)) {
      return Error(ErrorCode::kCorrupt, path + ": has a row without a value");
    }
    RETURN_IF_ERROR(sink(chunk->row_count(), values));
  }
}

}  // namespace vesta::store::duck
