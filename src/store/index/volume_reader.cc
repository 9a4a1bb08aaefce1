#include <array>
#include <string>
#include <vector>

#include "src/base/check.h"
#include "src/store/index/index_directory.h"
#include "src/store/index/index_file.h"

namespace vesta::store::index {

// The pages that this reader has touched.
class VolumeReader::Pages {
 public:
  explicit Pages(const IndexDirectory& directory) : directory_(directory) {
    for (size_t i = 0; i < kTableCount; ++i) {
      const auto table = static_cast<Table>(i);
      pages_[i].resize(PageCount(table, directory.marks().of(table)));
    }
  }

  const DictionaryMarks& marks() const { return directory_.marks(); }

  base::Result<std::shared_ptr<const DictionaryRows>> Shared(Table table, uint32_t page) {
    auto& held = pages_[static_cast<size_t>(table)][page];
    if (held == nullptr) {
      ASSIGN_OR_RETURN(held, directory_.Page(table, page));
    }
    return held;
  }

  // The page with a row, and where the row is in it.
  struct Row {
    const DictionaryRows* rows;
    uint32_t at;
  };
  base::Result<Row> Find(Table table, uint32_t id) {
    if (id >= marks().of(table)) {
      return base::Error(
          base::ErrorCode::kCorrupt,
          std::string("the volume has no row ") + std::to_string(id) + " of " + TableName(table));
    }
    const uint32_t page = id / PageRows(table);
    auto& held = pages_[static_cast<size_t>(table)][page];
    if (held == nullptr) {
      ASSIGN_OR_RETURN(held, directory_.Page(table, page));
    }
    return Row{held.get(), id % PageRows(table)};
  }

  base::Result<std::string_view> Text(uint32_t id) {
    ASSIGN_OR_RETURN(const Row row, Find(Table::kStrings, id));
    return row.rows->string(row.at);
  }
  base::Result<std::string> Copy(uint32_t id) {
    ASSIGN_OR_RETURN(const std::string_view text, Text(id));
    return std::string(text);
  }

 private:
  const IndexDirectory& directory_;
  std::array<std::vector<std::shared_ptr<const DictionaryRows>>, kTableCount> pages_;
};

VolumeReader::VolumeReader(const IndexFile& file)
    : pages_(std::make_unique<Pages>(*file.directory_)) {
  CHECK(file.has_dictionary());
}
VolumeReader::~VolumeReader() = default;

base::Result<FrameView> VolumeReader::frame(uint32_t id) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kFrames, id));
  const FrameRow& row = found.rows->frames[found.at];
  return FrameView{row.image, row.address, row.is_folded != 0,
                   std::span(found.rows->lines).subspan(row.first_line, row.line_count)};
}

base::Result<FunctionView> VolumeReader::function(uint32_t id) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kFunctions, id));
  const FunctionRow& row = found.rows->functions[found.at];
  FunctionView view;
  view.start_line = row.start_line;
  ASSIGN_OR_RETURN(view.name, pages_->Text(row.name));
  ASSIGN_OR_RETURN(view.system_name, pages_->Text(row.system_name));
  ASSIGN_OR_RETURN(view.file, pages_->Text(row.file));
  return view;
}

base::Result<ImageView> VolumeReader::image(uint32_t id) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kImages, id));
  const ImageRow& row = found.rows->images[found.at];
  ImageView view;
  view.memory_start = row.memory_start;
  view.memory_limit = row.memory_limit;
  view.file_offset = row.file_offset;
  ASSIGN_OR_RETURN(view.path, pages_->Text(row.path));
  ASSIGN_OR_RETURN(view.build_id, pages_->Text(row.build_id));
  return view;
}

base::Result<CallableView> VolumeReader::callable(uint32_t id) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kCallables, id));
  const CallableRow& row = found.rows->callables[found.at];
  CallableView view;
  ASSIGN_OR_RETURN(view.name, pages_->Text(row.name));
  ASSIGN_OR_RETURN(view.image, pages_->Text(row.image));
  ASSIGN_OR_RETURN(view.file, pages_->Text(row.file));
  return view;
}

base::Result<uint64_t> VolumeReader::callable_hash(uint32_t id) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kCallables, id));
  return found.rows->callables[found.at].hash;
}

base::Result<std::span<const uint32_t>> VolumeReader::frame_callables(uint32_t frame) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kFrames, frame));
  const FrameRow& row = found.rows->frames[found.at];
  if (row.line_count == 0) return std::span<const uint32_t>(&row.callable, 1);
  return std::span<const uint32_t>(found.rows->line_callables)
      .subspan(row.first_line, row.line_count);
}

uint32_t VolumeReader::node_count() const { return pages_->marks().nodes; }
uint32_t VolumeReader::callable_count() const { return pages_->marks().callables; }

base::Result<NodePage> VolumeReader::node_page(uint32_t page) const {
  if (page >= PageCount(Table::kNodes, node_count())) {
    return base::Error(base::ErrorCode::kCorrupt,
                       "the volume has no page " + std::to_string(page) + " of nodes");
  }
  ASSIGN_OR_RETURN(const auto rows, pages_->Shared(Table::kNodes, page));
  return NodePage{rows->nodes, rows};
}

base::Result<Labels> VolumeReader::series(uint32_t id) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kSeries, id));
  Labels labels;
  for (const LabelRow& row : found.rows->series(found.at)) {
    ASSIGN_OR_RETURN(std::string name, pages_->Copy(row.name));
    ASSIGN_OR_RETURN(std::string value, pages_->Copy(row.value));
    labels.push_back({std::move(name), std::move(value)});
  }
  return labels;
}

base::Result<ProfileType> VolumeReader::type(uint32_t id) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kTypes, id));
  const TypeRow& row = found.rows->types[found.at];
  ProfileType type;
  ASSIGN_OR_RETURN(type.type, pages_->Copy(row[0]));
  ASSIGN_OR_RETURN(type.unit, pages_->Copy(row[1]));
  ASSIGN_OR_RETURN(type.count_type, pages_->Copy(row[2]));
  ASSIGN_OR_RETURN(type.period_type, pages_->Copy(row[3]));
  ASSIGN_OR_RETURN(type.period_unit, pages_->Copy(row[4]));
  return type;
}

base::Result<Task> VolumeReader::task(uint32_t id) const {
  ASSIGN_OR_RETURN(const Pages::Row found, pages_->Find(Table::kTasks, id));
  const TaskRow& row = found.rows->tasks[found.at];
  Task task = {.pid = row.pid, .tid = row.tid, .thread = {}};
  ASSIGN_OR_RETURN(task.thread, pages_->Copy(row.thread));
  return task;
}

}  // namespace vesta::store::index
