#include "src/store/index/dictionary.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "src/store/index/dictionary_indexes.h"

namespace vesta::store::index {
namespace {

base::Error Missing(const char* what, uint32_t id) {
  return {base::ErrorCode::kCorrupt,
          "the dictionary has no " + std::string(what) + " " + std::to_string(id)};
}

}  // namespace

Dictionary::Dictionary() {
  strings_.Append({"", 0});
  images_.Append({});
  nodes_.Append({0, 0});
}
Dictionary::~Dictionary() = default;
Dictionary::Dictionary(Dictionary&&) noexcept = default;
Dictionary& Dictionary::operator=(Dictionary&&) noexcept = default;

base::Result<FrameView> Dictionary::frame(uint32_t id) const {
  if (id >= frames_.size()) return Missing("frame", id);
  const FrameRow& row = frames_[id];
  return FrameView{row.image, row.address, row.is_folded != 0, lines_of(row)};
}

base::Result<FunctionView> Dictionary::function(uint32_t id) const {
  if (id >= functions_.size()) return Missing("function", id);
  const FunctionRow& row = functions_[id];
  return FunctionView{string(row.name), string(row.system_name), string(row.file), row.start_line};
}

base::Result<ImageView> Dictionary::image(uint32_t id) const {
  if (id >= images_.size()) return Missing("image", id);
  const ImageRow& row = images_[id];
  return ImageView{string(row.path), string(row.build_id), row.memory_start, row.memory_limit,
                   row.file_offset};
}

base::Result<CallableView> Dictionary::callable(uint32_t id) const {
  if (id >= callables_.size()) return Missing("callable", id);
  const CallableRow& row = callables_[id];
  return CallableView{string(row.name), string(row.image), string(row.file)};
}

base::Result<uint64_t> Dictionary::callable_hash(uint32_t id) const {
  if (id >= callables_.size()) return Missing("callable", id);
  return callables_[id].hash;
}

base::Result<std::span<const uint32_t>> Dictionary::frame_callables(uint32_t frame) const {
  if (frame >= frames_.size()) return Missing("frame", frame);
  const FrameRow& row = frames_[frame];
  if (row.line_count == 0) return std::span<const uint32_t>(&row.callable, 1);
  return line_callables_.Run(row.first_line, row.line_count);
}

base::Result<NodePage> Dictionary::node_page(uint32_t page) const {
  const uint32_t count = nodes_.size();
  const uint64_t first = uint64_t{page} * kNodePageRows;
  if (first >= count) return Missing("page of nodes", page);
  const auto begin = static_cast<uint32_t>(first);
  return NodePage{nodes_.Run(begin, std::min(kNodePageRows, count - begin)), nullptr};
}

std::string_view Dictionary::string(uint32_t id) const {
  const StringRef& ref = strings_[id];
  return {ref.text, ref.bytes};
}

Labels Dictionary::series(uint32_t id) const {
  CHECK(id < series_ends_.size());
  Labels labels;
  for (uint32_t i = series_begin(id); i < series_ends_[id]; ++i) {
    const LabelRow label = labels_[i];
    labels.push_back({std::string(string(label.name)), std::string(string(label.value))});
  }
  return labels;
}

ProfileType Dictionary::type(uint32_t id) const {
  CHECK(id < types_.size());
  const TypeRow& row = types_[id];
  const auto text = [&](size_t i) { return std::string(string(row[i])); };
  return {text(0), text(1), text(2), text(3), text(4)};
}

Task Dictionary::task(uint32_t id) const {
  CHECK(id < tasks_.size());
  const TaskRow& row = tasks_[id];
  return {row.pid, row.tid, std::string(string(row.thread))};
}

DictionaryMarks Dictionary::marks() const {
  return {strings_.size(),     images_.size(), functions_.size(),
          callables_.size(),   frames_.size(), nodes_.size(),
          series_ends_.size(), types_.size(),  tasks_.size()};
}

size_t Dictionary::memory_bytes() const {
  size_t bytes = text_bytes_ + strings_.memory_bytes() + images_.memory_bytes() +
                 functions_.memory_bytes() + callables_.memory_bytes() + frames_.memory_bytes() +
                 lines_.memory_bytes() + line_callables_.memory_bytes() + nodes_.memory_bytes() +
                 labels_.memory_bytes() + series_ends_.memory_bytes() + types_.memory_bytes() +
                 tasks_.memory_bytes();
  if (indexes_ != nullptr) {
    const Indexes& at = *indexes_;
    bytes += at.strings.memory_bytes() + at.images.memory_bytes() + at.functions.memory_bytes() +
             at.callables.memory_bytes() + at.frames.memory_bytes() + at.nodes.memory_bytes() +
             at.series.memory_bytes() + at.types.memory_bytes() + at.tasks.memory_bytes();
  }
  return bytes;
}

void Dictionary::DropIndexes() { indexes_.reset(); }

const char* Dictionary::KeepText(std::string_view text) {
  constexpr size_t kChunkBytes = 64 << 10;
  if (text.empty()) return "";
  if (text.size() > text_room_) {
    const size_t bytes = std::max(kChunkBytes, text.size());
    // A text that fills a chunk alone leaves the room of the current one as it is.
    text_chunks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    text_bytes_ += bytes;
    if (text.size() >= kChunkBytes) {
      std::memcpy(text_chunks_.back().get(), text.data(), text.size());
      return text_chunks_.back().get();
    }
    text_next_ = text_chunks_.back().get();
    text_room_ = bytes;
  }
  char* kept = text_next_;
  std::memcpy(kept, text.data(), text.size());
  text_next_ += text.size();
  text_room_ -= text.size();
  return kept;
}

void Dictionary::CopyRows(Table table, uint32_t first, uint32_t count, DictionaryRows* rows) const {
  const auto copy = [&](const auto& from, auto* into) {
    into->reserve(count);
    for (uint32_t id = first; id < first + count; ++id) into->push_back(from[id]);
  };
  switch (table) {
    case Table::kStrings:
      for (uint32_t id = first; id < first + count; ++id) {
        rows->text += string(id);
        rows->string_ends.push_back(static_cast<uint32_t>(rows->text.size()));
      }
      return;
    case Table::kImages:
      return copy(images_, &rows->images);
    case Table::kFunctions:
      return copy(functions_, &rows->functions);
    case Table::kCallables:
      return copy(callables_, &rows->callables);
    case Table::kFrames:
      copy(frames_, &rows->frames);
      for (FrameRow& row : rows->frames) {
        const auto lines = lines_of(row);
        const auto callables = line_callables_.Run(row.first_line, row.line_count);
        row.first_line = static_cast<uint32_t>(rows->lines.size());
        rows->lines.insert(rows->lines.end(), lines.begin(), lines.end());
        rows->line_callables.insert(rows->line_callables.end(), callables.begin(), callables.end());
      }
      return;
    case Table::kNodes:
      return copy(nodes_, &rows->nodes);
    case Table::kSeries:
      for (uint32_t id = first; id < first + count; ++id) {
        for (uint32_t i = series_begin(id); i < series_ends_[id]; ++i)
          rows->labels.push_back(labels_[i]);
        rows->series_ends.push_back(static_cast<uint32_t>(rows->labels.size()));
      }
      return;
    case Table::kTypes:
      return copy(types_, &rows->types);
    case Table::kTasks:
      return copy(tasks_, &rows->tasks);
  }
}

base::Result<void> Dictionary::Append(const DictionaryRows& rows) {
  const DictionaryMarks before = marks();
  DictionaryMarks after = before;
  const std::array<size_t, kTableCount> added = {
      rows.string_ends.size(), rows.images.size(), rows.functions.size(),
      rows.callables.size(),   rows.frames.size(), rows.nodes.size(),
      rows.series_ends.size(), rows.types.size(),  rows.tasks.size()};
  for (size_t i = 0; i < kTableCount; ++i) {
    uint32_t& count = after.of(static_cast<Table>(i));
    if (added[i] >= size_t{kNoRow} - count)
      return base::Error(base::ErrorCode::kCorrupt, "the dictionary has too many rows");
    count += static_cast<uint32_t>(added[i]);
  }
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    RETURN_IF_ERROR(CheckRows(table, rows, before.of(table), after));
  }
  for (size_t i = 0; i < rows.string_ends.size(); ++i) {
    const std::string_view text = rows.string(i);
    strings_.Append({KeepText(text), static_cast<uint32_t>(text.size())});
  }
  for (const ImageRow& row : rows.images) images_.Append(row);
  for (const FunctionRow& row : rows.functions) functions_.Append(row);
  for (const CallableRow& row : rows.callables) callables_.Append(row);
  for (FrameRow row : rows.frames) {
    const size_t first = row.first_line;
    row.first_line = lines_.AppendRun(std::span(rows.lines).subspan(first, row.line_count));
    line_callables_.AppendRun(std::span(rows.line_callables).subspan(first, row.line_count));
    frames_.Append(row);
  }
  for (const TrieNode& row : rows.nodes) nodes_.Append(row);
  for (size_t i = 0; i < rows.series_ends.size(); ++i) {
    for (const LabelRow& label : rows.series(i)) labels_.Append(label);
    series_ends_.Append(labels_.size());
  }
  for (const TypeRow& row : rows.types) types_.Append(row);
  for (const TaskRow& row : rows.tasks) tasks_.Append(row);
  return {};
}

}  // namespace vesta::store::index
