// The dictionary as plain tables, for Parquet files that other tools read, and back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "src/base/result.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/node_order.h"

namespace vesta::store::index {

// Shape: columns of a table, equally long. Row i has the id first + i where a table has ids.
struct StackTable {  // stacks: one row per node, node 0 included (parent 0, frame 0)
  std::span<const uint32_t> stack, parent, frame;
};
struct FrameTable {
  std::span<const uint32_t> frame, image;
  std::span<const uint64_t> address;
  std::span<const uint8_t> is_folded;
};
struct FrameLineTable {  // sorted by (frame, position); position 0 = innermost
  std::span<const uint32_t> frame, position, function;
  std::span<const int64_t> line, column;
};
struct FunctionTable {
  std::span<const uint32_t> function;
  std::span<const std::string_view> name, system_name, file;
  std::span<const int64_t> start_line;
};
struct ImageTable {  // image 0 included
  std::span<const uint32_t> image;
  std::span<const std::string_view> path, build_id;
  std::span<const uint64_t> memory_start, memory_limit, file_offset;
};
struct SeriesTable {  // a row per label, sorted by (series, name); ("", "") = a series without any
  std::span<const uint32_t> series;
  std::span<const std::string_view> name, value;
};
struct TypeTable {
  std::span<const uint32_t> type;
  std::span<const std::string_view> name, unit, count_type, period_type, period_unit;
};
struct TaskTable {
  std::span<const uint32_t> task, pid, tid;
  std::span<const std::string_view> thread;
};

template <typename Table>
using TableRows = std::function<base::Result<void>(const Table&)>;

// Gives all rows of a table, in order, in pieces; the spans live until the sink returns.
// Units: text is UTF-8; a byte that is not becomes U+FFFD.
// Stacks under the numbers of `order`, if there is one.
base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<StackTable>& sink,
                              const NodeOrder* order = nullptr);
base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<FrameTable>& sink);
base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<FrameLineTable>& sink);
base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<FunctionTable>& sink);
base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<ImageTable>& sink);
base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<SeriesTable>& sink);
base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<TypeTable>& sink);
base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<TaskTable>& sink);

// Makes a dictionary with the same ids out of such tables. Order: images, functions, frame lines
// (all of them), frames, stacks; series, types and tasks whenever. Callables are made anew, so
// roll-ups must be, too.
// Errors: Corrupt naming the table and the row: an id out of order or that does not exist.
class TableLoader {
 public:
  TableLoader();
  ~TableLoader();
  base::Result<void> Add(const ImageTable& rows);
  base::Result<void> Add(const FunctionTable& rows);
  base::Result<void> Add(const FrameLineTable& rows);
  base::Result<void> Add(const FrameTable& rows);
  base::Result<void> Add(const StackTable& rows);
  base::Result<void> Add(const SeriesTable& rows);
  base::Result<void> Add(const TypeTable& rows);
  base::Result<void> Add(const TaskTable& rows);
  // Errors: besides, Corrupt for lines of frames that do not exist.
  base::Result<Dictionary> Take();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace vesta::store::index
