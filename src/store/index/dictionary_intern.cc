// Dictionary: giving ids to content.
#include <algorithm>
#include <string>

#include "src/store/callable_hash.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/dictionary_indexes.h"

namespace vesta::store::index {

Dictionary::Indexes& Dictionary::MakeIndexes() {
  if (indexes_ == nullptr) indexes_ = std::make_unique<Indexes>();
  Indexes& at = *indexes_;
  const DictionaryMarks now = marks();
  if (at.done == now) return at;
  // Of rows that are equal (only tables from elsewhere have such) any may be found later.
  const auto never = [](uint32_t) { return false; };
  for (uint32_t i = at.done.strings; i < now.strings; ++i)
    at.strings.FindOrInsert(HashString(string(i)), i, never);
  for (uint32_t i = at.done.images; i < now.images; ++i)
    at.images.FindOrInsert(HashRow(images_[i]), i, never);
  for (uint32_t i = at.done.functions; i < now.functions; ++i)
    at.functions.FindOrInsert(HashRow(functions_[i]), i, never);
  for (uint32_t i = at.done.callables; i < now.callables; ++i)
    at.callables.FindOrInsert(HashRow(callables_[i]), i, never);
  for (uint32_t i = at.done.frames; i < now.frames; ++i) {
    const FrameRow& row = frames_[i];
    at.frames.FindOrInsert(HashFrame(row.image, row.address, row.is_folded != 0, lines_of(row)), i,
                           never);
  }
  at.nodes.CatchUp(now.nodes, [&](uint32_t id) { return HashRow(nodes_[id]); });
  for (uint32_t i = at.done.series; i < now.series; ++i) {
    uint64_t hash = 0;
    for (uint32_t j = series_begin(i); j < series_ends_[i]; ++j) hash = HashLabel(hash, labels_[j]);
    at.series.FindOrInsert(hash, i, never);
  }
  for (uint32_t i = at.done.types; i < now.types; ++i)
    at.types.FindOrInsert(HashRow(types_[i]), i, never);
  for (uint32_t i = at.done.tasks; i < now.tasks; ++i)
    at.tasks.FindOrInsert(HashRow(tasks_[i]), i, never);
  at.done = now;
  return at;
}

uint32_t Dictionary::FindString(Indexes& indexes, uint64_t hash, std::string_view text) {
  const uint32_t fresh = strings_.size();
  const uint32_t id = indexes.strings.FindOrInsert(
      hash, fresh, [&](uint32_t other) { return string(other) == text; });
  if (id == fresh) {
    strings_.Append({KeepText(text), static_cast<uint32_t>(text.size())});
    ++indexes.done.strings;
  }
  return id;
}

uint32_t Dictionary::FindFunction(Indexes& indexes, uint64_t hash, const FunctionRow& function) {
  const uint32_t fresh = functions_.size();
  const uint32_t id = indexes.functions.FindOrInsert(
      hash, fresh, [&](uint32_t other) { return functions_[other] == function; });
  if (id == fresh) {
    functions_.Append(function);
    ++indexes.done.functions;
  }
  return id;
}

bool Dictionary::IsFrame(uint32_t id, uint32_t image, uint64_t address, bool is_folded,
                         std::span<const FrameLine> lines) const {
  const FrameRow& row = frames_[id];
  if (row.image != image || row.address != address || row.line_count != lines.size() ||
      (row.is_folded != 0) != is_folded)
    return false;
  const auto own = lines_of(row);
  return std::equal(own.begin(), own.end(), lines.begin(),
                    [](const FrameLine& a, const FrameLine& b) {
                      return a.function == b.function && a.line == b.line && a.column == b.column;
                    });
}

uint32_t Dictionary::FindFrame(Indexes& indexes, uint64_t hash, uint32_t image, uint64_t address,
                               bool is_folded, std::span<const FrameLine> lines) {
  const uint32_t fresh = frames_.size();
  const uint32_t id = indexes.frames.FindOrInsert(hash, fresh, [&](uint32_t other) {
    return IsFrame(other, image, address, is_folded, lines);
  });
  if (id == fresh) {
    AddFrameRow(indexes, image, address, is_folded, lines);
    ++indexes.done.frames;
  }
  return id;
}

void Dictionary::AddFrameRow(Indexes& indexes, uint32_t image, uint64_t address, bool is_folded,
                             std::span<const FrameLine> lines) {
  FrameRow row = {};
  row.image = image;
  row.address = address;
  row.is_folded = is_folded ? 1 : 0;
  row.line_count = static_cast<uint32_t>(lines.size()) & 0x7fffffffu;
  std::vector<uint32_t> callables;
  for (const FrameLine& line : lines) callables.push_back(FindCallable(indexes, image, &line));
  row.callable = lines.empty() ? FindCallable(indexes, image, nullptr) : callables[0];
  row.first_line = lines_.AppendRun(lines);
  line_callables_.AppendRun(callables);
  frames_.Append(row);
}

uint32_t Dictionary::FindNode(Indexes& indexes, uint64_t hash, TrieNode node) {
  const uint32_t fresh = nodes_.size();
  const uint32_t id = indexes.nodes.FindOrInsert(
      hash, fresh,
      [&](uint32_t other) {
        const TrieNode& row = nodes_[other];
        return row.parent == node.parent && row.frame == node.frame && other != 0;
      },
      [&](uint32_t other) { return HashRow(nodes_[other]); });
  if (id == fresh) {
    nodes_.Append(node);
    ++indexes.done.nodes;
  }
  return id;
}

uint32_t Dictionary::FindCallable(Indexes& indexes, uint32_t image, const FrameLine* line) {
  CallableRow row = {};
  row.image = images_[image].path;
  if (line != nullptr) {
    const FunctionRow& function = functions_[line->function];
    row.name = function.name != 0 ? function.name : function.system_name;
    if (row.image == 0 && row.name != 0) row.file = function.file;
  }
  row.hash = CallableHash(string(row.name), string(row.image), string(row.file));
  const uint32_t fresh = callables_.size();
  const uint32_t id = indexes.callables.FindOrInsert(HashRow(row), fresh, [&](uint32_t other) {
    const CallableRow& its = callables_[other];
    return its.name == row.name && its.image == row.image && its.file == row.file;
  });
  if (id == fresh) {
    callables_.Append(row);
    ++indexes.done.callables;
  }
  return id;
}

uint32_t Dictionary::InternString(std::string_view text) {
  return FindString(MakeIndexes(), HashString(text), text);
}

uint32_t Dictionary::InternImage(const ImageRow& image) {
  CHECK(image.path < strings_.size() && image.build_id < strings_.size());
  Indexes& indexes = MakeIndexes();
  const uint32_t fresh = images_.size();
  const uint32_t id = indexes.images.FindOrInsert(
      HashRow(image), fresh, [&](uint32_t other) { return images_[other] == image; });
  if (id == fresh) {
    images_.Append(image);
    ++indexes.done.images;
  }
  return id;
}

uint32_t Dictionary::InternFunction(const FunctionRow& function) {
  CHECK(std::max({function.name, function.system_name, function.file}) < strings_.size());
  return FindFunction(MakeIndexes(), HashRow(function), function);
}

uint32_t Dictionary::InternFrame(uint32_t image, uint64_t address, bool is_folded,
                                 std::span<const FrameLine> lines) {
  CHECK(image < images_.size());
  for (const FrameLine& line : lines) CHECK(line.function < functions_.size());
  return FindFrame(MakeIndexes(), HashFrame(image, address, is_folded, lines), image, address,
                   is_folded, lines);
}

void Dictionary::AddFrame(uint32_t image, uint64_t address, bool is_folded,
                          std::span<const FrameLine> lines) {
  CHECK(image < images_.size());
  for (const FrameLine& line : lines) CHECK(line.function < functions_.size());
  AddFrameRow(MakeIndexes(), image, address, is_folded, lines);
}

uint32_t Dictionary::InternNode(uint32_t parent, uint32_t frame) {
  CHECK(parent < nodes_.size() && frame < frames_.size());
  return FindNode(MakeIndexes(), HashRow(TrieNode{parent, frame}), {parent, frame});
}

uint32_t Dictionary::InternSeries(const Labels& labels) {
  std::vector<LabelRow> rows;
  uint64_t hash = 0;
  for (const Label& label : labels) {
    rows.push_back({InternString(label.name), InternString(label.value)});
    hash = HashLabel(hash, rows.back());
  }
  Indexes& indexes = MakeIndexes();
  const uint32_t fresh = series_ends_.size();
  const uint32_t id = indexes.series.FindOrInsert(hash, fresh, [&](uint32_t other) {
    const uint32_t begin = series_begin(other);
    if (series_ends_[other] - begin != rows.size()) return false;
    for (uint32_t i = 0; i < rows.size(); ++i) {
      if (labels_[begin + i] != rows[i]) return false;
    }
    return true;
  });
  if (id == fresh) {
    for (const LabelRow& row : rows) labels_.Append(row);
    series_ends_.Append(labels_.size());
    ++indexes.done.series;
  }
  return id;
}

uint32_t Dictionary::InternType(const ProfileType& type) {
  const TypeRow row = {InternString(type.type), InternString(type.unit),
                       InternString(type.count_type), InternString(type.period_type),
                       InternString(type.period_unit)};
  Indexes& indexes = MakeIndexes();
  const uint32_t fresh = types_.size();
  const uint32_t id = indexes.types.FindOrInsert(
      HashRow(row), fresh, [&](uint32_t other) { return types_[other] == row; });
  if (id == fresh) {
    types_.Append(row);
    ++indexes.done.types;
  }
  return id;
}

uint32_t Dictionary::InternTask(const Task& task) {
  const TaskRow row = {task.pid, task.tid, InternString(task.thread)};
  Indexes& indexes = MakeIndexes();
  const uint32_t fresh = tasks_.size();
  const uint32_t id = indexes.tasks.FindOrInsert(
      HashRow(row), fresh, [&](uint32_t other) { return tasks_[other] == row; });
  if (id == fresh) {
    tasks_.Append(row);
    ++indexes.done.tasks;
  }
  return id;
}

IdMaps MergeDictionary(const Dictionary& from, Dictionary* into) {
  const DictionaryMarks marks = from.marks();
  IdMaps maps;
  std::vector<uint32_t> strings, images, functions;
  for (uint32_t i = 0; i < marks.strings; ++i)
    strings.push_back(into->InternString(from.string(i)));
  for (uint32_t i = 0; i < marks.images; ++i) {
    ImageRow row = from.image_row(i);
    row.path = strings[row.path];
    row.build_id = strings[row.build_id];
    images.push_back(into->InternImage(row));
  }
  for (uint32_t i = 0; i < marks.functions; ++i) {
    const FunctionRow& row = from.function_row(i);
    functions.push_back(into->InternFunction(
        {strings[row.name], strings[row.system_name], strings[row.file], row.start_line}));
  }
  maps.callables.assign(marks.callables, 0);
  std::vector<FrameLine> lines;
  for (uint32_t i = 0; i < marks.frames; ++i) {
    const FrameView view = from.frame(i).value();
    lines.assign(view.lines.begin(), view.lines.end());
    for (FrameLine& line : lines) line.function = functions[line.function];
    const uint32_t id = into->InternFrame(images[view.image], view.address, view.is_folded, lines);
    maps.frames.push_back(id);
    const auto old_callables = from.frame_callables(i).value();
    const auto new_callables = into->frame_callables(id).value();
    for (size_t j = 0; j < old_callables.size(); ++j)
      maps.callables[old_callables[j]] = new_callables[j];
  }
  maps.nodes.push_back(0);
  for (uint32_t i = 1; i < marks.nodes; ++i) {
    const TrieNode node = from.node(i);
    maps.nodes.push_back(into->InternNode(maps.nodes[node.parent], maps.frames[node.frame]));
  }
  for (uint32_t i = 0; i < marks.series; ++i)
    maps.series.push_back(into->InternSeries(from.series(i)));
  for (uint32_t i = 0; i < marks.types; ++i) maps.types.push_back(into->InternType(from.type(i)));
  for (uint32_t i = 0; i < marks.tasks; ++i) maps.tasks.push_back(into->InternTask(from.task(i)));
  return maps;
}

}  // namespace vesta::store::index
