#include "src/store/index/dictionary_tables.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/check.h"
#include "src/base/utf8.h"

namespace vesta::store::index {
namespace {

constexpr uint32_t kPieceRows = 65'536;

// Text that is UTF-8, as it is or made so.
class Texts {
 public:
  std::string_view Clean(std::string_view text) {
    if (base::IsUtf8(text)) return text;
    kept_.push_back(std::make_unique<std::string>(base::ToUtf8(text)));
    return *kept_.back();
  }

 private:
  std::vector<std::unique_ptr<std::string>> kept_;
};

// Calls piece(first, behind) until all rows were given.
template <typename Piece>
base::Result<void> InPieces(uint32_t count, const Piece& piece) {
  for (uint32_t first = 0; first < count;) {
    const uint32_t behind = first + std::min(kPieceRows, count - first);
    RETURN_IF_ERROR(piece(first, behind));
    first = behind;
  }
  return {};
}

base::Error Bad(const char* table, uint64_t row, const char* what) {
  return {base::ErrorCode::kCorrupt,
          std::string(table) + " row " + std::to_string(row) + ": " + what};
}

}  // namespace

base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<StackTable>& sink,
                              const NodeOrder* order) {
  return InPieces(dictionary.marks().nodes, [&](uint32_t first, uint32_t behind) {
    std::vector<uint32_t> stack, parent, frame;
    for (uint32_t id = first; id < behind; ++id) {
      stack.push_back(id);
      const TrieNode& node = dictionary.node(order == nullptr ? id : order->node[id]);
      parent.push_back(order == nullptr ? node.parent : order->number[node.parent]);
      frame.push_back(node.frame);
    }
    return sink({stack, parent, frame});
  });
}

base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<FrameTable>& sink) {
  return InPieces(dictionary.marks().frames, [&](uint32_t first, uint32_t behind) {
    std::vector<uint32_t> frame, image;
    std::vector<uint64_t> address;
    std::vector<uint8_t> is_folded;
    for (uint32_t id = first; id < behind; ++id) {
      const FrameRow& row = dictionary.frame_row(id);
      frame.push_back(id);
      image.push_back(row.image);
      address.push_back(row.address);
      is_folded.push_back(row.is_folded);
    }
    return sink({frame, image, address, is_folded});
  });
}

base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<FrameLineTable>& sink) {
  return InPieces(dictionary.marks().frames,
                  [&](uint32_t first, uint32_t behind) -> base::Result<void> {
                    std::vector<uint32_t> frame, position, function;
                    std::vector<int64_t> line, column;
                    for (uint32_t id = first; id < behind; ++id) {
                      ASSIGN_OR_RETURN(const FrameView view, dictionary.frame(id));
                      for (size_t i = 0; i < view.lines.size(); ++i) {
                        frame.push_back(id);
                        position.push_back(static_cast<uint32_t>(i));
                        function.push_back(view.lines[i].function);
                        line.push_back(view.lines[i].line);
                        column.push_back(view.lines[i].column);
                      }
                    }
                    return sink({frame, position, function, line, column});
                  });
}

base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<FunctionTable>& sink) {
  return InPieces(dictionary.marks().functions, [&](uint32_t first, uint32_t behind) {
    Texts texts;
    std::vector<uint32_t> function;
    std::vector<std::string_view> name, system_name, file;
    std::vector<int64_t> start_line;
    for (uint32_t id = first; id < behind; ++id) {
      const FunctionRow& row = dictionary.function_row(id);
      function.push_back(id);
      name.push_back(texts.Clean(dictionary.string(row.name)));
      system_name.push_back(texts.Clean(dictionary.string(row.system_name)));
      file.push_back(texts.Clean(dictionary.string(row.file)));
      start_line.push_back(row.start_line);
    }
    return sink({function, name, system_name, file, start_line});
  });
}

base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<ImageTable>& sink) {
  return InPieces(dictionary.marks().images, [&](uint32_t first, uint32_t behind) {
    Texts texts;
    std::vector<uint32_t> image;
    std::vector<std::string_view> path, build_id;
    std::vector<uint64_t> memory_start, memory_limit, file_offset;
    for (uint32_t id = first; id < behind; ++id) {
      const ImageRow& row = dictionary.image_row(id);
      image.push_back(id);
      path.push_back(texts.Clean(dictionary.string(row.path)));
      build_id.push_back(texts.Clean(dictionary.string(row.build_id)));
      memory_start.push_back(row.memory_start);
      memory_limit.push_back(row.memory_limit);
      file_offset.push_back(row.file_offset);
    }
    return sink({image, path, build_id, memory_start, memory_limit, file_offset});
  });
}

base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<SeriesTable>& sink) {
  return InPieces(dictionary.marks().series, [&](uint32_t first, uint32_t behind) {
    std::vector<Labels> all;
    for (uint32_t id = first; id < behind; ++id) all.push_back(dictionary.series(id));
    Texts texts;
    std::vector<uint32_t> series;
    std::vector<std::string_view> name, value;
    const auto add = [&](uint32_t id, std::string_view label_name, std::string_view label_value) {
      series.push_back(id);
      name.push_back(texts.Clean(label_name));
      value.push_back(texts.Clean(label_value));
    };
    for (uint32_t id = first; id < behind; ++id) {
      if (all[id - first].empty()) add(id, "", "");
      for (const Label& label : all[id - first]) add(id, label.name, label.value);
    }
    return sink({series, name, value});
  });
}

base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<TypeTable>& sink) {
  return InPieces(dictionary.marks().types, [&](uint32_t first, uint32_t behind) {
    std::vector<ProfileType> all;
    for (uint32_t id = first; id < behind; ++id) all.push_back(dictionary.type(id));
    Texts texts;
    std::vector<uint32_t> type;
    std::vector<std::string_view> name, unit, count_type, period_type, period_unit;
    for (uint32_t id = first; id < behind; ++id) {
      const ProfileType& its = all[id - first];
      type.push_back(id);
      name.push_back(texts.Clean(its.type));
      unit.push_back(texts.Clean(its.unit));
      count_type.push_back(texts.Clean(its.count_type));
      period_type.push_back(texts.Clean(its.period_type));
      period_unit.push_back(texts.Clean(its.period_unit));
    }
    return sink({type, name, unit, count_type, period_type, period_unit});
  });
}

base::Result<void> ForEachRow(const Dictionary& dictionary, const TableRows<TaskTable>& sink) {
  return InPieces(dictionary.marks().tasks, [&](uint32_t first, uint32_t behind) {
    std::vector<Task> all;
    for (uint32_t id = first; id < behind; ++id) all.push_back(dictionary.task(id));
    Texts texts;
    std::vector<uint32_t> task, pid, tid;
    std::vector<std::string_view> thread;
    for (uint32_t id = first; id < behind; ++id) {
      const Task& its = all[id - first];
      task.push_back(id);
      pid.push_back(its.pid);
      tid.push_back(its.tid);
      thread.push_back(texts.Clean(its.thread));
    }
    return sink({task, pid, tid, thread});
  });
}

// Collects what arrives in pieces, so that ids stay those of the tables.
class TableLoader::Work {
 public:
  // The tables have their ids in order and without a gap.
  static base::Result<void> CheckId(const char* table, uint32_t id, size_t expected) {
    if (id != expected) return Bad(table, expected, "its id is not that of its place");
    return {};
  }

  uint32_t Text(std::string_view text) { return dictionary.InternString(text); }

  base::Result<void> EndSeries() {
    if (!has_series) return {};
    DictionaryRows rows;
    rows.labels = std::move(labels);
    rows.series_ends.push_back(static_cast<uint32_t>(rows.labels.size()));
    labels.clear();
    return dictionary.Append(rows);
  }

  Dictionary dictionary;
  std::vector<uint32_t> line_frame;
  std::vector<FrameLine> lines;
  uint32_t position = 0;  // of the last line
  size_t lines_used = 0;
  bool has_image = false;
  bool has_node = false;
  bool has_series = false;
  std::vector<LabelRow> labels;  // of the last series
};

TableLoader::TableLoader() : work_(std::make_unique<Work>()) {}
TableLoader::~TableLoader() = default;

base::Result<void> TableLoader::Add(const ImageTable& rows) {
  DictionaryRows part;
  for (size_t i = 0; i < rows.image.size(); ++i) {
    const size_t next =
        (work_->has_image ? work_->dictionary.marks().images : 0) + part.images.size();
    const ImageRow row = {work_->Text(rows.path[i]), work_->Text(rows.build_id[i]),
                          rows.memory_start[i], rows.memory_limit[i], rows.file_offset[i]};
    if (!work_->has_image) {
      RETURN_IF_ERROR(Work::CheckId("images", rows.image[i], 0));
      if (row != ImageRow{}) return Bad("images", 0, "it is not the image that means none");
      work_->has_image = true;
      continue;
    }
    RETURN_IF_ERROR(Work::CheckId("images", rows.image[i], next));
    part.images.push_back(row);
  }
  return work_->dictionary.Append(part);
}

base::Result<void> TableLoader::Add(const FunctionTable& rows) {
  DictionaryRows part;
  const uint32_t first = work_->dictionary.marks().functions;
  for (size_t i = 0; i < rows.function.size(); ++i) {
    RETURN_IF_ERROR(Work::CheckId("functions", rows.function[i], first + i));
    part.functions.push_back({work_->Text(rows.name[i]), work_->Text(rows.system_name[i]),
                              work_->Text(rows.file[i]), rows.start_line[i]});
  }
  return work_->dictionary.Append(part);
}

base::Result<void> TableLoader::Add(const FrameLineTable& rows) {
  Work& work = *work_;
  const uint32_t functions = work.dictionary.marks().functions;
  for (size_t i = 0; i < rows.frame.size(); ++i) {
    const size_t row = work.lines.size();
    const bool is_same = row != 0 && work.line_frame.back() == rows.frame[i];
    work.position = is_same ? work.position + 1 : 0;
    if (rows.position[i] != work.position || (row != 0 && rows.frame[i] < work.line_frame.back()))
      return Bad("frame_lines", row, "it is out of order");
    if (rows.function[i] >= functions)
      return Bad("frame_lines", row, "its function does not exist");
    work.line_frame.push_back(rows.frame[i]);
    work.lines.push_back({rows.function[i], rows.line[i], rows.column[i]});
  }
  return {};
}

base::Result<void> TableLoader::Add(const FrameTable& rows) {
  Work& work = *work_;
  const DictionaryMarks marks = work.dictionary.marks();
  for (size_t i = 0; i < rows.frame.size(); ++i) {
    const uint32_t id = work.dictionary.marks().frames;
    RETURN_IF_ERROR(Work::CheckId("frames", rows.frame[i], id));
    if (rows.image[i] >= marks.images) return Bad("frames", id, "its image does not exist");
    size_t end = work.lines_used;
    while (end < work.lines.size() && work.line_frame[end] == id) ++end;
    const auto lines = std::span(work.lines).subspan(work.lines_used, end - work.lines_used);
    work.lines_used = end;
    work.dictionary.AddFrame(rows.image[i], rows.address[i], rows.is_folded[i] != 0, lines);
  }
  return {};
}

base::Result<void> TableLoader::Add(const StackTable& rows) {
  DictionaryRows part;
  const uint32_t first = work_->has_node ? work_->dictionary.marks().nodes : 0;
  for (size_t i = 0; i < rows.stack.size(); ++i) {
    RETURN_IF_ERROR(Work::CheckId("stacks", rows.stack[i], first + i));
    if (!work_->has_node) {
      if (rows.parent[i] != 0 || rows.frame[i] != 0) return Bad("stacks", 0, "it is not the root");
      work_->has_node = true;
      continue;
    }
    part.nodes.push_back({rows.parent[i], rows.frame[i]});
  }
  return work_->dictionary.Append(part);
}

base::Result<void> TableLoader::Add(const SeriesTable& rows) {
  Work& work = *work_;
  for (size_t i = 0; i < rows.series.size(); ++i) {
    const uint32_t current = work.dictionary.marks().series;  // of the one that is not ended
    if (!work.has_series || rows.series[i] != current) {
      RETURN_IF_ERROR(work.EndSeries());
      work.has_series = true;
      RETURN_IF_ERROR(Work::CheckId("series", rows.series[i], work.dictionary.marks().series));
    }
    if (rows.name[i].empty() && rows.value[i].empty()) continue;
    work.labels.push_back({work.Text(rows.name[i]), work.Text(rows.value[i])});
  }
  return {};
}

base::Result<void> TableLoader::Add(const TypeTable& rows) {
  DictionaryRows part;
  const uint32_t first = work_->dictionary.marks().types;
  for (size_t i = 0; i < rows.type.size(); ++i) {
    RETURN_IF_ERROR(Work::CheckId("types", rows.type[i], first + i));
    part.types.push_back({work_->Text(rows.name[i]), work_->Text(rows.unit[i]),
                          work_->Text(rows.count_type[i]), work_->Text(rows.period_type[i]),
                          work_->Text(rows.period_unit[i])});
  }
  return work_->dictionary.Append(part);
}

base::Result<void> TableLoader::Add(const TaskTable& rows) {
  DictionaryRows part;
  const uint32_t first = work_->dictionary.marks().tasks;
  for (size_t i = 0; i < rows.task.size(); ++i) {
    RETURN_IF_ERROR(Work::CheckId("tasks", rows.task[i], first + i));
    part.tasks.push_back({rows.pid[i], rows.tid[i], work_->Text(rows.thread[i])});
  }
  return work_->dictionary.Append(part);
}

base::Result<Dictionary> TableLoader::Take() {
  RETURN_IF_ERROR(work_->EndSeries());
  work_->has_series = false;
  if (work_->lines_used != work_->lines.size())
    return Bad("frame_lines", work_->lines_used, "its frame does not exist");
  if (!work_->has_image || !work_->has_node)
    return base::Error(base::ErrorCode::kCorrupt, "the table of images or stacks is empty");
  return std::move(work_->dictionary);
}

}  // namespace vesta::store::index
