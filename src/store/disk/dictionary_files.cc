#include "src/store/disk/dictionary_files.h"

#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "src/store/duck/parquet_table.h"
#include "src/store/index/dictionary_tables.h"

namespace vesta::store {

namespace {

using duck::ColumnKind;
using duck::ColumnValues;
using Columns = std::vector<ColumnValues>;

template <typename T>
const T& Take(const ColumnValues& column) {
  return std::get<T>(column);
}
using U32 = std::span<const uint32_t>;
using U64 = std::span<const uint64_t>;
using I64 = std::span<const int64_t>;
using Text = std::span<const std::string_view>;

// What a table is called, its columns, and its way into columns and back.
template <typename Table>
struct Form;

template <>
struct Form<index::ImageTable> {
  static constexpr const char* kName = "images.parquet";
  static std::vector<duck::ColumnSpec> Specs() {
    return {{"image", ColumnKind::kU32},        {"path", ColumnKind::kString},
            {"build_id", ColumnKind::kString},  {"memory_start", ColumnKind::kU64},
            {"memory_limit", ColumnKind::kU64}, {"file_offset", ColumnKind::kU64}};
  }
  static Columns Of(const index::ImageTable& t) {
    return {t.image, t.path, t.build_id, t.memory_start, t.memory_limit, t.file_offset};
  }
  static index::ImageTable From(std::span<const ColumnValues> c) {
    return {Take<U32>(c[0]), Take<Text>(c[1]), Take<Text>(c[2]),
            Take<U64>(c[3]), Take<U64>(c[4]),  Take<U64>(c[5])};
  }
};

template <>
struct Form<index::FunctionTable> {
  static constexpr const char* kName = "functions.parquet";
  static std::vector<duck::ColumnSpec> Specs() {
    return {{"function", ColumnKind::kU32},
            {"name", ColumnKind::kString},
            {"system_name", ColumnKind::kString, "name"},
            {"file", ColumnKind::kString},
            {"start_line", ColumnKind::kI64}};
  }
  static Columns Of(const index::FunctionTable& t) {
    return {t.function, t.name, t.system_name, t.file, t.start_line};
  }
  static index::FunctionTable From(std::span<const ColumnValues> c) {
    return {Take<U32>(c[0]), Take<Text>(c[1]), Take<Text>(c[2]), Take<Text>(c[3]), Take<I64>(c[4])};
  }
};

template <>
struct Form<index::FrameLineTable> {
  static constexpr const char* kName = "frame_lines.parquet";
  static std::vector<duck::ColumnSpec> Specs() {
    return {{"frame", ColumnKind::kU32},
            {"position", ColumnKind::kU32},
            {"function", ColumnKind::kU32},
            {"line", ColumnKind::kI64},
            {"column", ColumnKind::kI64}};
  }
  static Columns Of(const index::FrameLineTable& t) {
    return {t.frame, t.position, t.function, t.line, t.column};
  }
  static index::FrameLineTable From(std::span<const ColumnValues> c) {
    return {Take<U32>(c[0]), Take<U32>(c[1]), Take<U32>(c[2]), Take<I64>(c[3]), Take<I64>(c[4])};
  }
};

template <>
struct Form<index::FrameTable> {
  static constexpr const char* kName = "frames.parquet";
  static std::vector<duck::ColumnSpec> Specs() {
    return {{"frame", ColumnKind::kU32},
            {"image", ColumnKind::kU32},
            {"address", ColumnKind::kU64},
            {"is_folded", ColumnKind::kBool}};
  }
  static Columns Of(const index::FrameTable& t) {
    return {t.frame, t.image, t.address, duck::Bools{t.is_folded}};
  }
  static index::FrameTable From(std::span<const ColumnValues> c) {
    return {Take<U32>(c[0]), Take<U32>(c[1]), Take<U64>(c[2]), Take<duck::Bools>(c[3]).values};
  }
};

template <>
struct Form<index::StackTable> {
  static constexpr const char* kName = "stacks.parquet";
  static std::vector<duck::ColumnSpec> Specs() {
    return {{"stack", ColumnKind::kU32}, {"parent", ColumnKind::kU32}, {"frame", ColumnKind::kU32}};
  }
  static Columns Of(const index::StackTable& t) { return {t.stack, t.parent, t.frame}; }
  static index::StackTable From(std::span<const ColumnValues> c) {
    return {Take<U32>(c[0]), Take<U32>(c[1]), Take<U32>(c[2])};
  }
};

template <>
struct Form<index::SeriesTable> {
  static constexpr const char* kName = "series.parquet";
  static std::vector<duck::ColumnSpec> Specs() {
    return {{"series", ColumnKind::kU32},
            {"name", ColumnKind::kString},
            {"value", ColumnKind::kString}};
  }
  static Columns Of(const index::SeriesTable& t) { return {t.series, t.name, t.value}; }
  static index::SeriesTable From(std::span<const ColumnValues> c) {
    return {Take<U32>(c[0]), Take<Text>(c[1]), Take<Text>(c[2])};
  }
};

template <>
struct Form<index::TypeTable> {
  static constexpr const char* kName = "types.parquet";
  static std::vector<duck::ColumnSpec> Specs() {
    return {{"type", ColumnKind::kU32},           {"name", ColumnKind::kString},
            {"unit", ColumnKind::kString},        {"count_type", ColumnKind::kString},
            {"period_type", ColumnKind::kString}, {"period_unit", ColumnKind::kString}};
  }
  static Columns Of(const index::TypeTable& t) {
    return {t.type, t.name, t.unit, t.count_type, t.period_type, t.period_unit};
  }
  static index::TypeTable From(std::span<const ColumnValues> c) {
    return {Take<U32>(c[0]),  Take<Text>(c[1]), Take<Text>(c[2]),
            Take<Text>(c[3]), Take<Text>(c[4]), Take<Text>(c[5])};
  }
};

template <>
struct Form<index::TaskTable> {
  static constexpr const char* kName = "tasks.parquet";
  static std::vector<duck::ColumnSpec> Specs() {
    return {{"task", ColumnKind::kU32},
            {"pid", ColumnKind::kU32},
            {"tid", ColumnKind::kU32},
            {"thread", ColumnKind::kString}};
  }
  static Columns Of(const index::TaskTable& t) { return {t.task, t.pid, t.tid, t.thread}; }
  static index::TaskTable From(std::span<const ColumnValues> c) {
    return {Take<U32>(c[0]), Take<U32>(c[1]), Take<U32>(c[2]), Take<Text>(c[3])};
  }
};

template <typename Table>
base::Result<void> WriteTable(const duck::DuckDb& database, const index::Dictionary& dictionary,
                              const std::string& folder, std::string_view suffix,
                              const index::NodeOrder* order, std::vector<std::string>* names) {
  using TableForm = Form<Table>;
  ASSIGN_OR_RETURN(const auto writer,
                   duck::ParquetTableWriter::Create(database, TableForm::Specs()));
  const index::TableRows<Table> append = [&writer](const Table& rows) {
    return writer->Append(TableForm::Of(rows));
  };
  if constexpr (std::is_same_v<Table, index::StackTable>) {
    RETURN_IF_ERROR(index::ForEachRow(dictionary, append, order));
  } else {
    RETURN_IF_ERROR(index::ForEachRow(dictionary, append));
  }
  names->emplace_back(TableForm::kName);
  return writer->Finish(folder + "/" + TableForm::kName + std::string(suffix));
}

template <typename Table>
base::Result<void> ReadTable(const duck::DuckDb& database, const std::string& folder,
                             index::TableLoader* loader) {
  using TableForm = Form<Table>;
  return duck::ReadParquetTable(
      database, folder + "/" + TableForm::kName, TableForm::Specs(),
      [loader](size_t /*row_count*/, std::span<const ColumnValues> columns) {
        return loader->Add(TableForm::From(columns));
      });
}

}  // namespace

base::Result<std::vector<std::string>> WriteDictionaryFiles(const duck::DuckDb& database,
                                                            const index::Dictionary& dictionary,
                                                            const std::string& folder,
                                                            std::string_view suffix,
                                                            const index::NodeOrder* order) {
  std::vector<std::string> names;
  const auto write = [&]<typename Table>(const Table&) {
    return WriteTable<Table>(database, dictionary, folder, suffix, order, &names);
  };
  RETURN_IF_ERROR(write(index::ImageTable{}));
  RETURN_IF_ERROR(write(index::FunctionTable{}));
  RETURN_IF_ERROR(write(index::FrameLineTable{}));
  RETURN_IF_ERROR(write(index::FrameTable{}));
  RETURN_IF_ERROR(write(index::StackTable{}));
  RETURN_IF_ERROR(write(index::SeriesTable{}));
  RETURN_IF_ERROR(write(index::TypeTable{}));
  RETURN_IF_ERROR(write(index::TaskTable{}));
  return names;
}

base::Result<index::Dictionary> ReadDictionaryFiles(const duck::DuckDb& database,
                                                    const std::string& folder) {
  index::TableLoader loader;
  // In the order that the loader wants.
  RETURN_IF_ERROR(ReadTable<index::ImageTable>(database, folder, &loader));
  RETURN_IF_ERROR(ReadTable<index::FunctionTable>(database, folder, &loader));
  RETURN_IF_ERROR(ReadTable<index::FrameLineTable>(database, folder, &loader));
  RETURN_IF_ERROR(ReadTable<index::FrameTable>(database, folder, &loader));
  RETURN_IF_ERROR(ReadTable<index::StackTable>(database, folder, &loader));
  RETURN_IF_ERROR(ReadTable<index::SeriesTable>(database, folder, &loader));
  RETURN_IF_ERROR(ReadTable<index::TypeTable>(database, folder, &loader));
  RETURN_IF_ERROR(ReadTable<index::TaskTable>(database, folder, &loader));
  return loader.Take();
}

}  // namespace vesta::store
