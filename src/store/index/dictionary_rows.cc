#include "src/store/index/dictionary_rows.h"

#include <limits>

namespace vesta::store::index {
namespace {

template <typename T>
size_t Bytes(const std::vector<T>& column) {
  return column.capacity() * sizeof(T);
}

// Takes one field of each row as a column.
template <typename Row, typename Field>
std::vector<uint64_t> Collect(const std::vector<Row>& rows, const Field& field) {
  std::vector<uint64_t> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(field(row));
  return values;
}

// Each value as its distance from the one before.
std::vector<uint64_t> Steps(std::vector<uint64_t> values) {
  uint64_t before = 0;
  for (uint64_t& value : values) {
    const uint64_t step = value - before;
    before = value;
    value = ZigZag(static_cast<int64_t>(step));
  }
  return values;
}

// Undoes Steps. Values that do not fit their field become ones that no check lets pass: every field
// of 32 bits that is read so is an id.
class StepReader {
 public:
  uint64_t Next(uint64_t step) {
    value_ += static_cast<uint64_t>(UnZigZag(step));
    return value_;
  }
  uint32_t NextId(uint64_t step) {
    const uint64_t value = Next(step);
    return value < kNoId ? static_cast<uint32_t>(value) : kNoId;
  }

 private:
  static constexpr uint32_t kNoId = std::numeric_limits<uint32_t>::max();
  uint64_t value_ = 0;
};

// A column of steps, undone for each row by `set`.
template <typename Row, typename Set>
void ReadSteps(ColumnReader* reader, std::vector<Row>* rows, const Set& set) {
  std::vector<uint64_t> column(rows->size());
  reader->Read(column.data(), column.size());
  if (!reader->ok()) return;
  StepReader steps;
  for (size_t i = 0; i < column.size(); ++i) set(&(*rows)[i], &steps, column[i]);
}

template <typename Row, typename Set>
void ReadColumn(ColumnReader* reader, std::vector<Row>* rows, const Set& set) {
  std::vector<uint64_t> column(rows->size());
  reader->Read(column.data(), column.size());
  if (!reader->ok()) return;
  for (size_t i = 0; i < column.size(); ++i) set(&(*rows)[i], column[i]);
}

std::vector<uint64_t> Lengths(const std::vector<uint32_t>& ends) {
  uint32_t before = 0;
  return Collect(ends, [&](uint32_t end) {
    const uint32_t length = end - before;
    before = end;
    return uint64_t{length};
  });
}

// Returns the sum; more than `sum_max` fails the reader.
size_t ReadLengths(ColumnReader* reader, size_t count, std::vector<uint32_t>* ends) {
  *ends = reader->ReadBounded<uint32_t>(count);
  uint64_t sum = 0;
  for (uint32_t& end : *ends) {
    sum += end;
    // What follows is at least a byte for each.
    if (sum > reader->remaining()) reader->Fail();
    end = static_cast<uint32_t>(sum);
  }
  return reader->ok() ? static_cast<size_t>(sum) : 0;
}

// Rows whose first column is a bounded one.
template <typename Row, typename Set>
void ReadFirst(ColumnReader* reader, size_t count, std::vector<Row>* rows, const Set& set) {
  const auto column = reader->ReadBounded<uint64_t>(count);
  rows->resize(column.size());
  StepReader steps;
  for (size_t i = 0; i < column.size(); ++i) set(&(*rows)[i], &steps, column[i]);
}

void EncodeImages(const std::vector<ImageRow>& rows, ColumnWriter* writer) {
  writer->Put(Steps(Collect(rows, [](const ImageRow& r) { return uint64_t{r.path}; })), 1);
  writer->Put(Steps(Collect(rows, [](const ImageRow& r) { return uint64_t{r.build_id}; })));
  writer->Put(Collect(rows, [](const ImageRow& r) { return r.memory_start; }));
  writer->Put(Collect(rows, [](const ImageRow& r) { return r.memory_limit - r.memory_start; }));
  writer->Put(Collect(rows, [](const ImageRow& r) { return r.file_offset; }));
}

void DecodeImages(ColumnReader* reader, size_t count, std::vector<ImageRow>* rows) {
  ReadFirst(reader, count, rows,
            [](ImageRow* r, StepReader* s, uint64_t v) { r->path = s->NextId(v); });
  ReadSteps(reader, rows,
            [](ImageRow* r, StepReader* s, uint64_t v) { r->build_id = s->NextId(v); });
  ReadColumn(reader, rows, [](ImageRow* r, uint64_t v) { r->memory_start = v; });
  ReadColumn(reader, rows, [](ImageRow* r, uint64_t v) { r->memory_limit = r->memory_start + v; });
  ReadColumn(reader, rows, [](ImageRow* r, uint64_t v) { r->file_offset = v; });
}

void EncodeFunctions(const std::vector<FunctionRow>& rows, ColumnWriter* writer) {
  writer->Put(Steps(Collect(rows, [](const FunctionRow& r) { return uint64_t{r.name}; })), 1);
  writer->Put(Collect(rows, [](const FunctionRow& r) {
    return ZigZag(static_cast<int64_t>(r.system_name) - static_cast<int64_t>(r.name));
  }));
  writer->Put(Steps(Collect(rows, [](const FunctionRow& r) { return uint64_t{r.file}; })));
  writer->Put(Collect(rows, [](const FunctionRow& r) { return ZigZag(r.start_line); }));
}

void DecodeFunctions(ColumnReader* reader, size_t count, std::vector<FunctionRow>* rows) {
  ReadFirst(reader, count, rows,
            [](FunctionRow* r, StepReader* s, uint64_t v) { r->name = s->NextId(v); });
  ReadColumn(reader, rows, [](FunctionRow* r, uint64_t v) {
    const uint64_t id = r->name + static_cast<uint64_t>(UnZigZag(v));
    r->system_name = id < std::numeric_limits<uint32_t>::max()
                         ? static_cast<uint32_t>(id)
                         : std::numeric_limits<uint32_t>::max();
  });
  ReadSteps(reader, rows,
            [](FunctionRow* r, StepReader* s, uint64_t v) { r->file = s->NextId(v); });
  ReadColumn(reader, rows, [](FunctionRow* r, uint64_t v) { r->start_line = UnZigZag(v); });
}

void EncodeCallables(const std::vector<CallableRow>& rows, ColumnWriter* writer) {
  writer->Put(Steps(Collect(rows, [](const CallableRow& r) { return uint64_t{r.name}; })), 1);
  writer->Put(Steps(Collect(rows, [](const CallableRow& r) { return uint64_t{r.image}; })));
  writer->Put(Steps(Collect(rows, [](const CallableRow& r) { return uint64_t{r.file}; })));
  writer->Put(Collect(rows, [](const CallableRow& r) { return r.hash; }));
}

void DecodeCallables(ColumnReader* reader, size_t count, std::vector<CallableRow>* rows) {
  ReadFirst(reader, count, rows,
            [](CallableRow* r, StepReader* s, uint64_t v) { r->name = s->NextId(v); });
  ReadSteps(reader, rows,
            [](CallableRow* r, StepReader* s, uint64_t v) { r->image = s->NextId(v); });
  ReadSteps(reader, rows,
            [](CallableRow* r, StepReader* s, uint64_t v) { r->file = s->NextId(v); });
  ReadColumn(reader, rows, [](CallableRow* r, uint64_t v) { r->hash = v; });
}

void EncodeFrames(const DictionaryRows& rows, ColumnWriter* writer) {
  const auto& frames = rows.frames;
  writer->Put(Collect(frames, [](const FrameRow& r) { return uint64_t{r.line_count}; }), 1);
  writer->Put(Steps(Collect(frames, [](const FrameRow& r) { return uint64_t{r.image}; })));
  writer->Put(Steps(Collect(frames, [](const FrameRow& r) { return r.address; })));
  writer->Put(Collect(frames, [](const FrameRow& r) { return uint64_t{r.is_folded}; }));
  std::vector<uint64_t> bare;  // callables of frames without lines
  for (const FrameRow& row : frames) {
    if (row.line_count == 0) bare.push_back(row.callable);
  }
  writer->Put(Steps(std::move(bare)));
  const auto& lines = rows.lines;
  writer->Put(Steps(Collect(lines, [](const FrameLine& r) { return uint64_t{r.function}; })), 1);
  writer->Put(Collect(lines, [](const FrameLine& r) { return ZigZag(r.line); }));
  writer->Put(Collect(lines, [](const FrameLine& r) { return ZigZag(r.column); }));
  writer->Put(Steps(Collect(rows.line_callables, [](uint32_t id) { return uint64_t{id}; })));
}

void DecodeFrames(ColumnReader* reader, size_t count, DictionaryRows* rows) {
  std::vector<uint32_t> ends;
  const size_t line_count = ReadLengths(reader, count, &ends);
  auto& frames = rows->frames;
  frames.resize(ends.size());
  uint32_t first = 0;
  size_t bare_count = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    frames[i] = {};
    frames[i].first_line = first;
    frames[i].line_count = (ends[i] - first) & 0x7fffffffu;
    if (ends[i] == first) ++bare_count;
    first = ends[i];
  }
  ReadSteps(reader, &frames,
            [](FrameRow* r, StepReader* s, uint64_t v) { r->image = s->NextId(v); });
  ReadSteps(reader, &frames,
            [](FrameRow* r, StepReader* s, uint64_t v) { r->address = s->Next(v); });
  ReadColumn(reader, &frames, [](FrameRow* r, uint64_t v) { r->is_folded = v != 0; });
  std::vector<uint64_t> bare(bare_count);
  reader->Read(bare.data(), bare.size());
  ReadFirst(reader, line_count, &rows->lines,
            [](FrameLine* r, StepReader* s, uint64_t v) { r->function = s->NextId(v); });
  ReadColumn(reader, &rows->lines, [](FrameLine* r, uint64_t v) { r->line = UnZigZag(v); });
  ReadColumn(reader, &rows->lines, [](FrameLine* r, uint64_t v) { r->column = UnZigZag(v); });
  rows->line_callables.resize(rows->lines.size());
  ReadSteps(reader, &rows->line_callables,
            [](uint32_t* r, StepReader* s, uint64_t v) { *r = s->NextId(v); });
  if (!reader->ok()) return;
  StepReader steps;
  size_t next_bare = 0;
  for (FrameRow& row : frames) {
    row.callable = row.line_count == 0 ? steps.NextId(bare[next_bare++])
                                       : rows->line_callables[row.first_line];
  }
}

// Nodes come in runs: the first of a run says how far away its parent is, each other one is called
// by the one before it. Frames are distances from that of the node before, modulo 2^32.
void EncodeNodes(const std::vector<TrieNode>& rows, uint32_t first, ColumnWriter* writer) {
  std::vector<uint64_t> frames, distances, lengths;
  uint32_t frame = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    frames.push_back(ZigZag(static_cast<int32_t>(rows[i].frame - frame)) & 0xffffffffu);
    frame = rows[i].frame;
    const uint32_t distance = first + static_cast<uint32_t>(i) - rows[i].parent;
    if (i != 0 && distance == 1) {
      ++lengths.back();
    } else {
      distances.push_back(distance);
      lengths.push_back(0);
    }
  }
  writer->Put(frames, 1);
  writer->PutNumber(distances.size());
  writer->Put(distances, 1);
  writer->Put(lengths);
}

void DecodeNodes(ColumnReader* reader, uint32_t first, size_t count, std::vector<TrieNode>* rows) {
  const auto frames = reader->ReadBounded<uint32_t>(count);
  const auto distances = reader->ReadBounded<uint32_t>(static_cast<size_t>(reader->ReadNumber()));
  std::vector<uint32_t> lengths(distances.size());
  reader->Read(lengths.data(), lengths.size());
  if (!reader->ok()) return;
  rows->resize(frames.size());
  TrieNode* row = rows->data();
  uint32_t id = first;
  uint32_t frame = 0;
  size_t left = frames.size();
  const uint32_t* step = frames.data();
  for (size_t i = 0; i < distances.size(); ++i) {
    if (lengths[i] >= left) return reader->Fail();
    left -= lengths[i] + size_t{1};
    uint32_t parent = id - distances[i];
    for (const TrieNode* end = row + lengths[i] + 1; row != end; ++row, ++step) {
      frame += (*step >> 1) ^ (~(*step & 1) + 1);
      *row = {parent, frame};
      parent = id++;
    }
  }
  if (left != 0) reader->Fail();
}

void EncodeTasks(const std::vector<TaskRow>& rows, ColumnWriter* writer) {
  writer->Put(Steps(Collect(rows, [](const TaskRow& r) { return uint64_t{r.thread}; })), 1);
  writer->Put(Collect(rows, [](const TaskRow& r) { return uint64_t{r.pid}; }));
  writer->Put(Collect(rows, [](const TaskRow& r) { return uint64_t{r.tid}; }));
}

void DecodeTasks(ColumnReader* reader, size_t count, std::vector<TaskRow>* rows) {
  ReadFirst(reader, count, rows,
            [](TaskRow* r, StepReader* s, uint64_t v) { r->thread = s->NextId(v); });
  std::vector<uint32_t> pid(rows->size());
  std::vector<uint32_t> tid(rows->size());
  reader->Read(pid.data(), pid.size());
  reader->Read(tid.data(), tid.size());
  for (size_t i = 0; i < rows->size(); ++i) {
    (*rows)[i].pid = pid[i];
    (*rows)[i].tid = tid[i];
  }
}

}  // namespace

const char* TableName(Table table) {
  constexpr std::array<const char*, kTableCount> kNames = {
      "strings", "images", "functions", "callables", "frames", "nodes", "series", "types", "tasks"};
  return kNames[static_cast<size_t>(table)];
}

uint32_t& DictionaryMarks::of(Table table) {
  switch (table) {
    case Table::kStrings:
      return strings;
    case Table::kImages:
      return images;
    case Table::kFunctions:
      return functions;
    case Table::kCallables:
      return callables;
    case Table::kFrames:
      return frames;
    case Table::kNodes:
      return nodes;
    case Table::kSeries:
      return series;
    case Table::kTypes:
      return types;
    case Table::kTasks:
      break;
  }
  return tasks;
}

size_t DictionaryRows::memory_bytes() const {
  return Bytes(string_ends) + text.capacity() + Bytes(images) + Bytes(functions) +
         Bytes(callables) + Bytes(frames) + Bytes(lines) + Bytes(line_callables) + Bytes(nodes) +
         Bytes(series_ends) + Bytes(labels) + Bytes(types) + Bytes(tasks);
}

void EncodeRows(Table table, const DictionaryRows& rows, uint32_t first, ColumnWriter* writer) {
  switch (table) {
    case Table::kStrings:
      writer->Put(Lengths(rows.string_ends), 1);
      return writer->PutBytes(rows.text.data(), rows.text.size());
    case Table::kImages:
      return EncodeImages(rows.images, writer);
    case Table::kFunctions:
      return EncodeFunctions(rows.functions, writer);
    case Table::kCallables:
      return EncodeCallables(rows.callables, writer);
    case Table::kFrames:
      return EncodeFrames(rows, writer);
    case Table::kNodes:
      return EncodeNodes(rows.nodes, first, writer);
    case Table::kSeries:
      writer->Put(Lengths(rows.series_ends), 1);
      writer->Put(Collect(rows.labels, [](const LabelRow& r) { return uint64_t{r.name}; }), 1);
      return writer->Put(
          Steps(Collect(rows.labels, [](const LabelRow& r) { return uint64_t{r.value}; })));
    case Table::kTypes:
      for (size_t i = 0; i < TypeRow{}.size(); ++i) {
        writer->Put(Collect(rows.types, [i](const TypeRow& r) { return uint64_t{r[i]}; }),
                    i == 0 ? 1 : 0);
      }
      return;
    case Table::kTasks:
      return EncodeTasks(rows.tasks, writer);
  }
}

void DecodeRows(Table table, ColumnReader* reader, uint32_t first, size_t count,
                DictionaryRows* rows) {
  switch (table) {
    case Table::kStrings: {
      const auto text = reader->ReadBytes(ReadLengths(reader, count, &rows->string_ends));
      rows->text.assign(reinterpret_cast<const char*>(text.data()), text.size());
      return;
    }
    case Table::kImages:
      return DecodeImages(reader, count, &rows->images);
    case Table::kFunctions:
      return DecodeFunctions(reader, count, &rows->functions);
    case Table::kCallables:
      return DecodeCallables(reader, count, &rows->callables);
    case Table::kFrames:
      return DecodeFrames(reader, count, rows);
    case Table::kNodes:
      return DecodeNodes(reader, first, count, &rows->nodes);
    case Table::kSeries: {
      const size_t labels = ReadLengths(reader, count, &rows->series_ends);
      const auto names = reader->ReadBounded<uint32_t>(labels);
      rows->labels.resize(names.size());
      for (size_t i = 0; i < names.size(); ++i) rows->labels[i].name = names[i];
      return ReadSteps(reader, &rows->labels,
                       [](LabelRow* r, StepReader* s, uint64_t v) { r->value = s->NextId(v); });
    }
    case Table::kTypes: {
      const auto names = reader->ReadBounded<uint32_t>(count);
      rows->types.resize(names.size());
      for (size_t j = 0; j < names.size(); ++j) rows->types[j][0] = names[j];
      std::vector<uint32_t> column(names.size());
      for (size_t i = 1; i < TypeRow{}.size(); ++i) {
        reader->Read(column.data(), column.size());
        for (size_t j = 0; j < names.size(); ++j) rows->types[j][i] = column[j];
      }
      return;
    }
    case Table::kTasks:
      return DecodeTasks(reader, count, &rows->tasks);
  }
}

base::Result<void> CheckRows(Table table, const DictionaryRows& rows, uint32_t first,
                             const DictionaryMarks& marks) {
  const auto bad = [&](size_t row, const char* field) {
    return base::Error(base::ErrorCode::kCorrupt, std::string(TableName(table)) + " row " +
                                                      std::to_string(first + row) + ": its " +
                                                      field + " does not exist");
  };
  const auto is_text = [&](uint32_t id) { return id < marks.strings; };
  switch (table) {
    case Table::kStrings:
      if (first == 0 && !rows.string_ends.empty() && rows.string_ends[0] != 0)
        return base::Error(base::ErrorCode::kCorrupt, "string 0 is not empty");
      break;
    case Table::kImages:
      if (first == 0 && !rows.images.empty() && rows.images[0] != ImageRow{})
        return base::Error(base::ErrorCode::kCorrupt, "image 0 is not none");
      for (size_t i = 0; i < rows.images.size(); ++i) {
        if (!is_text(rows.images[i].path) || !is_text(rows.images[i].build_id))
          return bad(i, "text");
      }
      break;
    case Table::kFunctions:
      for (size_t i = 0; i < rows.functions.size(); ++i) {
        const FunctionRow& row = rows.functions[i];
        if (!is_text(row.name) || !is_text(row.system_name) || !is_text(row.file))
          return bad(i, "text");
      }
      break;
    case Table::kCallables:
      for (size_t i = 0; i < rows.callables.size(); ++i) {
        const CallableRow& row = rows.callables[i];
        if (!is_text(row.name) || !is_text(row.image) || !is_text(row.file)) return bad(i, "text");
      }
      break;
    case Table::kFrames:
      for (size_t i = 0; i < rows.frames.size(); ++i) {
        const FrameRow& row = rows.frames[i];
        if (row.image >= marks.images) return bad(i, "image");
        if (row.callable >= marks.callables) return bad(i, "callable");
        for (uint32_t line = row.first_line; line < row.first_line + row.line_count; ++line) {
          if (rows.lines[line].function >= marks.functions) return bad(i, "function");
          if (rows.line_callables[line] >= marks.callables) return bad(i, "callable");
        }
      }
      break;
    case Table::kNodes:
      for (size_t i = 0; i < rows.nodes.size(); ++i) {
        const TrieNode& node = rows.nodes[i];
        const uint64_t id = first + i;
        if (id == 0 ? node.parent != 0 : node.parent >= id) return bad(i, "parent");
        if (id == 0 ? node.frame != 0 : node.frame >= marks.frames) return bad(i, "frame");
      }
      break;
    case Table::kSeries:
      for (size_t i = 0; i < rows.series_ends.size(); ++i) {
        for (const LabelRow& label : rows.series(i)) {
          if (!is_text(label.name) || !is_text(label.value)) return bad(i, "text");
        }
      }
      break;
    case Table::kTypes:
      for (size_t i = 0; i < rows.types.size(); ++i) {
        for (const uint32_t text : rows.types[i]) {
          if (!is_text(text)) return bad(i, "text");
        }
      }
      break;
    case Table::kTasks:
      for (size_t i = 0; i < rows.tasks.size(); ++i) {
        if (!is_text(rows.tasks[i].thread)) return bad(i, "text");
      }
      break;
  }
  return {};
}

}  // namespace vesta::store::index
