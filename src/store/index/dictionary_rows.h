// Rows of a dictionary's tables: how they are kept, and how they travel as columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/store/index/column_codec.h"
#include "src/store/index/node_source.h"
#include "src/store/store.h"

namespace vesta::store::index {

// In the order in which they are written: a table uses ids of those before it.
enum class Table : uint8_t {
  kStrings,
  kImages,
  kFunctions,
  kCallables,
  kFrames,
  kNodes,
  kSeries,
  kTypes,
  kTasks,
};
inline constexpr size_t kTableCount = 9;
const char* TableName(Table table);

// Rows of each table; with them, how far a dictionary has grown.
struct DictionaryMarks {
  uint32_t strings = 0;
  uint32_t images = 0;
  uint32_t functions = 0;
  uint32_t callables = 0;
  uint32_t frames = 0;
  uint32_t nodes = 0;
  uint32_t series = 0;
  uint32_t types = 0;
  uint32_t tasks = 0;
  friend bool operator==(const DictionaryMarks&, const DictionaryMarks&) = default;

  uint32_t& of(Table table);
  uint32_t of(Table table) const { return DictionaryMarks(*this).of(table); }
};

// Fields without a comment are ids of the table that they name.
struct ImageRow {
  uint32_t path;      // string
  uint32_t build_id;  // string
  uint64_t memory_start;
  uint64_t memory_limit;
  uint64_t file_offset;
  friend bool operator==(const ImageRow&, const ImageRow&) = default;
};
struct FunctionRow {
  uint32_t name;  // these are strings
  uint32_t system_name;
  uint32_t file;
  int64_t start_line;
  friend bool operator==(const FunctionRow&, const FunctionRow&) = default;
};
struct CallableRow {
  uint32_t name;  // these are strings, as CallableView has them
  uint32_t image;
  uint32_t file;
  uint64_t hash;  // CallableHash of the view
};
struct FrameRow {
  uint32_t image;
  uint32_t first_line;  // of the pool of lines
  uint32_t line_count : 31;
  uint32_t is_folded : 1;
  uint32_t callable;  // the innermost one
  uint64_t address;
};
using TypeRow = std::array<uint32_t, 5>;  // strings, in the order of ProfileType
struct TaskRow {
  uint32_t pid;
  uint32_t tid;
  uint32_t thread;  // string
  friend bool operator==(const TaskRow&, const TaskRow&) = default;
};
struct LabelRow {
  uint32_t name;  // strings
  uint32_t value;
  friend bool operator==(const LabelRow&, const LabelRow&) = default;
};

// Some rows of some tables: those of a delta, or of one page of one table.
struct DictionaryRows {
  std::vector<uint32_t> string_ends;  // string i = text[ends[i - 1], ends[i])
  std::string text;
  std::vector<ImageRow> images;
  std::vector<FunctionRow> functions;
  std::vector<CallableRow> callables;
  std::vector<FrameRow> frames;  // first_line counts within `lines`
  std::vector<FrameLine> lines;
  std::vector<uint32_t> line_callables;  // of each line
  std::vector<TrieNode> nodes;
  std::vector<uint32_t> series_ends;  // series i = labels[ends[i - 1], ends[i])
  std::vector<LabelRow> labels;
  std::vector<TypeRow> types;
  std::vector<TaskRow> tasks;

  size_t memory_bytes() const;
  std::string_view string(size_t row) const {
    const uint32_t begin = row == 0 ? 0 : string_ends[row - 1];
    return std::string_view(text).substr(begin, string_ends[row] - begin);
  }
  std::span<const LabelRow> series(size_t row) const {
    const uint32_t begin = row == 0 ? 0 : series_ends[row - 1];
    return std::span(labels).subspan(begin, series_ends[row] - begin);
  }
};

// Appends the rows of a table as columns; the first has the id `first`.
void EncodeRows(Table table, const DictionaryRows& rows, uint32_t first, ColumnWriter* writer);
// Reads them into the (empty) table of `rows`. Ids inside are not looked at yet.
// Errors: the reader's ok().
void DecodeRows(Table table, ColumnReader* reader, uint32_t first, size_t count,
                DictionaryRows* rows);
// Whether every id in a table whose first row has the id `first` exists, when there are as many
// rows as `marks` says.
// Errors: Corrupt naming the table and the row.
base::Result<void> CheckRows(Table table, const DictionaryRows& rows, uint32_t first,
                             const DictionaryMarks& marks);

}  // namespace vesta::store::index
