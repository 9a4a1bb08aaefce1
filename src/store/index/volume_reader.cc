#include <array>
#include <optional>
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
    const DictionaryRows* rows = nullptr;
    uint32_t at = 0;
  };
  base::Result<Row> Find(Table table, uint32_t id) {
    RETURN_IF_ERROR(CheckId(table, id));
    const uint32_t page = id / PageRows(table);
    auto& held = pages_[static_cast<size_t>(table)][page];
    if (held == nullptr) {
      ASSIGN_OR_RETURN(held, directory_.Page(table, page));
    }
    return Row{held.get(), id % PageRows(table)};
  }
  base::Result<std::string> Copy(uint32_t id) {
    ASSIGN_OR_RETURN(const Row row, Find(Table::kStrings, id));
    return std::string(row.rows->string(row.at));
  }

  // The same for names that people see: nothing, and a note of it, where the page is damaged.
  base::Result<std::optional<Row>> FindName(Table table, uint32_t id) {
    RETURN_IF_ERROR(CheckId(table, id));
    auto found = Find(table, id);
    if (found.ok()) return std::optional<Row>(*found);
    if (!damage_.has_value()) damage_ = found.error();
    return std::optional<Row>();
  }
  base::Result<std::string_view> Name(uint32_t id) {
    ASSIGN_OR_RETURN(const std::optional<Row> row, FindName(Table::kStrings, id));
    return row ? row->rows->string(row->at) : kLostName;
  }
  const std::optional<base::Error>& damage() const { return damage_; }

 private:
  base::Result<void> CheckId(Table table, uint32_t id) const {
    if (id < marks().of(table)) return {};
    return base::Error(
        base::ErrorCode::kCorrupt,
        std::string("the volume has no row ") + std::to_string(id) + " of " + TableName(table));
  }

  const IndexDirectory& directory_;
  std::optional<base::Error> damage_;
  std::array<std::vector<std::shared_ptr<const DictionaryRows>>, kTableCount> pages_;
};

VolumeReader::VolumeReader(const IndexFile& file)
    : pages_(std::make_unique<Pages>(*file.directory_)) {
  CHECK(file.has_dictionary());
}
VolumeReader::~VolumeReader() = default;

base::Result<FrameView> VolumeReader::frame(uint32_t id) const {
  ASSIGN_OR_RETURN(const auto found, pages_->FindName(Table::kFrames, id));
  if (!found) return FrameView{};
  const FrameRow& row = found->rows->frames[found->at];
  return FrameView{row.image, row.address, row.is_folded != 0,
                   std::span(found->rows->lines).subspan(row.first_line, row.line_count)};
}

base::Result<FunctionView> VolumeReader::function(uint32_t id) const {
  ASSIGN_OR_RETURN(const auto found, pages_->FindName(Table::kFunctions, id));
  FunctionView view;
  if (!found) {
    view.name = kLostName;
    return view;
  }
  const FunctionRow& row = found->rows->functions[found->at];
  view.start_line = row.start_line;
  ASSIGN_OR_RETURN(view.name, pages_->Name(row.name));
  if (row.system_name == row.name) {
    view.system_name = view.name;
  } else {
    ASSIGN_OR_RETURN(view.system_name, pages_->Name(row.system_name));
  }
  ASSIGN_OR_RETURN(view.file, pages_->Name(row.file));
  return view;
}

base::Result<ImageView> VolumeReader::image(uint32_t id) const {
  ASSIGN_OR_RETURN(const auto found, pages_->FindName(Table::kImages, id));
  ImageView view;
  if (!found) {
    view.path = kLostName;
    return view;
  }
  const ImageRow& row = found->rows->images[found->at];
  view.memory_start = row.memory_start;
  view.memory_limit = row.memory_limit;
  view.file_offset = row.file_offset;
  ASSIGN_OR_RETURN(view.path, pages_->Name(row.path));
  ASSIGN_OR_RETURN(view.build_id, pages_->Name(row.build_id));
  return view;
}

base::Result<CallableView> VolumeReader::callable(uint32_t id) const {
  ASSIGN_OR_RETURN(const auto found, pages_->FindName(Table::kCallables, id));
  CallableView view;
  if (!found) {
    view.name = kLostName;
    return view;
  }
  const CallableRow& row = found->rows->callables[found->at];
  ASSIGN_OR_RETURN(view.name, pages_->Name(row.name));
  ASSIGN_OR_RETURN(view.image, pages_->Name(row.image));
  ASSIGN_OR_RETURN(view.file, pages_->Name(row.file));
  return view;
}

base::Result<uint64_t> VolumeReader::callable_hash(uint32_t id) const {
  ASSIGN_OR_RETURN(const auto found, pages_->FindName(Table::kCallables, id));
  return found ? found->rows->callables[found->at].hash : 0;
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
  ASSIGN_OR_RETURN(const auto found, pages_->FindName(Table::kTasks, id));
  if (!found) return Task{.pid = 0, .tid = 0, .thread = std::string(kLostName)};
  const TaskRow& row = found->rows->tasks[found->at];
  ASSIGN_OR_RETURN(const std::string_view thread, pages_->Name(row.thread));
  return Task{.pid = row.pid, .tid = row.tid, .thread = std::string(thread)};
}

const std::optional<base::Error>& VolumeReader::damage() const { return pages_->damage(); }

}  // namespace vesta::store::index
