// Answers as JSON for programs.
#include <algorithm>
#include <array>
#include <cstdio>

#include "src/base/json.h"
#include "src/profile/id_index.h"
#include "src/query/answer.h"

namespace vesta::query {
namespace {

using base::JsonWriter;

constexpr size_t kIdDigits = 16;

void WriteSum(const ValueCount& sum, JsonWriter& json) {
  json.Key("value").Int(sum.value).Key("count").Int(sum.count);
}

void WriteSums(std::string_view name, const ValueCount& sum, JsonWriter& json) {
  json.Key(name).BeginObject();
  WriteSum(sum, json);
  json.EndObject();
}

void WriteType(const store::ProfileType& type, JsonWriter& json) {
  json.Key("type").String(type.type).Key("unit").String(type.unit);
  json.Key("count_type").String(type.count_type);
  json.Key("period_type").String(type.period_type).Key("period_unit").String(type.period_unit);
}

// Begins the object that all answers share: question, type, window, totals, notes.
void BeginAnswer(const About& about, JsonWriter& json) {
  json.BeginObject();
  json.Key("question").String(QuestionName(about.plan.question));
  json.Key("type").BeginObject();
  WriteType(about.plan.type.type, json);
  json.EndObject();
  json.Key("shown").String(about.plan.type.shows_count ? "count" : "value");
  json.Key("sides").BeginArray();
  for (size_t side = 0; side < about.plan.ranges.size(); ++side) {
    const store::TimeRange range = about.plan.ranges[side];
    json.BeginObject().Key("query").String(about.selectors[side]);
    json.Key("from_unix_ms").Int(range.from_unix_ms).Key("to_unix_ms").Int(range.to_unix_ms);
    json.Key("series").Uint(about.plan.series[side]);
    if (side < about.totals.size()) WriteSums("total", about.totals[side], json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("by").BeginArray();
  for (const std::string& name : about.plan.by) json.String(name);
  json.EndArray();
  json.Key("notes").BeginArray();
  for (const std::string& note : about.notes) json.String(note);
  json.EndArray();
}

std::string End(JsonWriter& json) {
  json.EndObject();
  return json.Take() + '\n';
}

std::string_view KindName(flame::FunctionKind kind) {
  switch (kind) {
    case flame::FunctionKind::kProcess:
      return "label";
    case flame::FunctionKind::kNative:
      return "native";
    case flame::FunctionKind::kKernel:
      return "kernel";
    case flame::FunctionKind::kUnnamed:
      return "unnamed";
    case flame::FunctionKind::kOther:
      return "other";
  }
  return {};
}

std::string_view InlinedName(flame::Inlined inlined) {
  switch (inlined) {
    case flame::Inlined::kNever:
      return "never";
    case flame::Inlined::kSometimes:
      return "sometimes";
    case flame::Inlined::kAlways:
      return "always";
  }
  return {};
}

uint64_t HashBytes(uint64_t seed, std::string_view text) {
  uint64_t hash = profile::HashWord(seed, text.size());
  for (const char c : text) hash = profile::HashWord(hash, static_cast<unsigned char>(c));
  return hash;
}

// A node's id is a hash of the names on its path, so that it is the same in the next answer.
std::vector<uint64_t> NodeIds(const flame::StackTree& tree) {
  std::vector<uint64_t> of_function;
  for (const flame::TreeFunction& row : tree.functions) {
    const uint64_t name = HashBytes(1, tree.strings[row.name]);
    const uint64_t image = HashBytes(name, tree.strings[row.image]);
    of_function.push_back(row.image == 0 ? HashBytes(image, tree.strings[row.file]) : image);
  }
  std::vector<uint64_t> ids;
  std::vector<uint64_t> path;
  for (size_t node = 0; node < tree.node_count(); ++node) {
    path.resize(tree.depth[node]);
    const uint64_t own = of_function[tree.function[node]];
    path.push_back(path.empty() ? own : profile::HashWord(path.back(), own));
    ids.push_back(path.back());
  }
  return ids;
}

void WriteFunctions(const flame::StackTree& tree, JsonWriter& json) {
  json.Key("functions").BeginArray();
  for (const flame::TreeFunction& row : tree.functions) {
    json.BeginObject().Key("name").String(tree.strings[row.name]);
    json.Key("binary").String(tree.strings[row.image]).Key("file").String(tree.strings[row.file]);
    json.Key("start_line").Uint(row.start_line).Key("kind").String(KindName(row.kind));
    json.Key("inlined").String(InlinedName(row.inlined)).EndObject();
  }
  json.EndArray();
}

void WriteColumn(const std::vector<int64_t>& column, JsonWriter& json) {
  json.BeginArray();
  for (const int64_t value : column) json.Int(value);
  json.EndArray();
}

// Nodes as columns, in preorder.
void WriteNodes(const flame::StackTree& tree, JsonWriter& json) {
  json.Key("nodes").BeginObject();
  json.Key("id").BeginArray();
  for (const uint64_t id : NodeIds(tree)) {
    std::array<char, kIdDigits + 1> text;
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(id));
    json.String(text.data());
  }
  json.EndArray().Key("parent").BeginArray();
  std::vector<int64_t> path;
  for (size_t node = 0; node < tree.node_count(); ++node) {
    path.resize(tree.depth[node]);
    json.Int(path.empty() ? -1 : path.back());
    path.push_back(static_cast<int64_t>(node));
  }
  json.EndArray().Key("function").BeginArray();
  for (const uint32_t function : tree.function) json.Uint(function);
  json.EndArray();
  json.Key("values").BeginArray();
  for (size_t type = 0; type < tree.value_types.size(); ++type) {
    json.BeginObject().Key("type").String(tree.value_types[type].type);
    json.Key("unit").String(tree.value_types[type].unit);
    json.Key("self").BeginArray();
    for (size_t side = 0; side < tree.sides.size(); ++side)
      WriteColumn(tree.self[tree.column(type, side)], json);
    json.EndArray().Key("total").BeginArray();
    for (size_t side = 0; side < tree.sides.size(); ++side)
      WriteColumn(flame::NodeTotals(tree, tree.column(type, side)), json);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
}

void WriteTopRows(std::string_view key, const std::vector<TopRow>& rows, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const TopRow& row : rows) {
    json.BeginObject().Key("name").String(row.name).Key("binary").String(row.binary);
    json.Key("file").String(row.file);
    WriteSums("self", row.self, json);
    WriteSums("total", row.total, json);
    json.EndObject();
  }
  json.EndArray();
}

void WriteDifference(const TreeAnswer& answer, JsonWriter& json) {
  const flame::DiffTable& table = answer.difference[0];
  const auto figure = [&](std::string_view name, const flame::DiffFigure& row) {
    json.Key(name).BeginObject();
    json.Key("before").Int(row.before).Key("after").Int(row.after);
    json.Key("difference").Int(row.difference()).Key("within_noise").Bool(row.within_noise);
    json.EndObject();
  };
  json.Key("difference").BeginObject();
  figure("sum", table.sum);
  json.Key("normalized").Bool(table.normalized).Key("after_scale").Double(table.after_scale);
  json.Key("noise_known").Bool(table.noise_known);
  const size_t shown =
      answer.rows_max == 0 ? table.rows.size() : std::min(answer.rows_max, table.rows.size());
  int64_t behind_before = 0, behind_after = 0;
  for (size_t i = shown; i < table.rows.size(); ++i) {
    behind_before = profile::AddSaturating(behind_before, table.rows[i].self.before);
    behind_after = profile::AddSaturating(behind_after, table.rows[i].self.after);
  }
  json.Key("functions_behind").Uint(table.rows.size() - shown);
  json.Key("self_behind").BeginObject().Key("before").Int(behind_before);
  json.Key("after").Int(behind_after).EndObject();
  json.Key("functions").BeginArray();
  for (size_t i = 0; i < shown; ++i) {
    const flame::DiffRow& row = table.rows[i];
    json.BeginObject().Key("name").String(row.name).Key("binary").String(row.image);
    json.Key("file").String(row.file);
    json.Key("change").String(row.is_new() ? "new" : row.is_gone() ? "gone" : "both");
    figure("self", row.self);
    figure("total", row.total);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

std::string Json(const TreeAnswer& answer) {
  JsonWriter json;
  BeginAnswer(answer.about, json);
  json.Key("nodes_all").Uint(answer.nodes_all).Key("nodes_shown").Uint(answer.tree.node_count());
  json.Key("rest_name").String(flame::kRestName);
  if (answer.about.plan.question == Question::kCallers ||
      answer.about.plan.question == Question::kCallees)
    WriteTopRows("found", answer.functions, json);
  if (!answer.difference.empty()) WriteDifference(answer, json);
  WriteFunctions(answer.tree, json);
  WriteNodes(answer.tree, json);
  return End(json);
}

std::string_view TopByName(const TopAnswer& answer) {
  switch (answer.by) {
    case TopBy::kFunction:
      return "function";
    case TopBy::kFile:
      return "file";
    case TopBy::kBinary:
      return "binary";
    case TopBy::kLabel:
      return answer.label;
  }
  return {};
}

std::string Json(const TopAnswer& answer) {
  JsonWriter json;
  BeginAnswer(answer.about, json);
  json.Key("top_by").String(TopByName(answer));
  json.Key("order").String(answer.order == TopOrder::kSelf ? "self" : "total");
  WriteTopRows("rows", answer.rows, json);
  json.Key("rows_behind").Uint(answer.rows_behind);
  WriteSums("self_behind", answer.self_behind, json);
  return End(json);
}

void WriteSeriesRow(const About& about, const SeriesRow& row, JsonWriter& json) {
  json.Key("labels").BeginObject();
  for (size_t i = 0; i < row.values.size(); ++i) json.Key(about.plan.by[i]).String(row.values[i]);
  json.EndObject();
  WriteSums("total", row.total, json);
  json.Key("steps").BeginArray();
  for (const SeriesCell& cell : row.cells) json.Uint(cell.step);
  json.EndArray().Key("values").BeginArray();
  for (const SeriesCell& cell : row.cells) json.Int(cell.sum.value);
  json.EndArray().Key("counts").BeginArray();
  for (const SeriesCell& cell : row.cells) json.Int(cell.sum.count);
  json.EndArray();
}

std::string Json(const SeriesAnswer& answer) {
  JsonWriter json;
  BeginAnswer(answer.about, json);
  json.Key("step_ms").Int(answer.step_ms).Key("step_count").Uint(answer.step_count);
  json.Key("rows").BeginArray();
  for (const SeriesRow& row : answer.rows) {
    json.BeginObject();
    WriteSeriesRow(answer.about, row, json);
    json.EndObject();
  }
  json.EndArray().Key("rows_behind").Uint(answer.rows_behind);
  json.Key("rest").BeginObject();
  WriteSeriesRow(answer.about, answer.rest, json);
  json.EndObject();
  return End(json);
}

std::string Json(const LabelsAnswer& answer) {
  JsonWriter json;
  BeginAnswer(answer.about, json);
  json.Key("rows").BeginArray();
  for (const LabelRow& row : answer.rows) {
    json.BeginObject().Key("name").String(row.name).Key("values").Uint(row.values);
    json.Key("series").Uint(row.series).EndObject();
  }
  json.EndArray().Key("rows_behind").Uint(answer.rows_behind);
  return End(json);
}

void WriteSumArray(std::string_view key, const std::vector<ValueCount>& sums, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const ValueCount& sum : sums) {
    json.BeginObject();
    WriteSum(sum, json);
    json.EndObject();
  }
  json.EndArray();
}

std::string Json(const ValuesAnswer& answer) {
  JsonWriter json;
  BeginAnswer(answer.about, json);
  json.Key("label").String(answer.label).Key("types").BeginArray();
  for (const store::ProfileType& type : answer.types) {
    json.BeginObject();
    WriteType(type, json);
    json.EndObject();
  }
  json.EndArray().Key("rows").BeginArray();
  for (const ValueRow& row : answer.rows) {
    json.BeginObject().Key("value").String(row.value).Key("series").Uint(row.series);
    WriteSumArray("sums", row.sums, json);
    json.EndObject();
  }
  json.EndArray().Key("rows_behind").Uint(answer.rows_behind);
  WriteSumArray("sums_behind", answer.sums_behind, json);
  return End(json);
}

std::string Json(const TypesAnswer& answer) {
  JsonWriter json;
  BeginAnswer(answer.about, json);
  json.Key("rows").BeginArray();
  for (const TypeRow& row : answer.rows) {
    json.BeginObject();
    WriteType(row.type, json);
    json.Key("series").Uint(row.series);
    WriteSums("total", row.total, json);
    json.EndObject();
  }
  json.EndArray();
  return End(json);
}

std::string Json(const LinesAnswer& answer) {
  JsonWriter json;
  BeginAnswer(answer.about, json);
  WriteTopRows("found", answer.functions, json);
  json.Key("rows").BeginArray();
  for (const LineRow& row : answer.rows) {
    json.BeginObject().Key("function").String(row.function).Key("binary").String(row.binary);
    json.Key("file").String(row.file).Key("line").Uint(row.line);
    WriteSums("self", row.self, json);
    WriteSums("total", row.total, json);
    json.EndObject();
  }
  json.EndArray().Key("rows_behind").Uint(answer.rows_behind);
  WriteSums("self_behind", answer.self_behind, json);
  return End(json);
}

std::string Json(const ProfileAnswer& answer) {
  JsonWriter json;
  BeginAnswer(answer.about, json);
  json.Key("samples").Uint(answer.profile.sample_count());
  return End(json);
}

}  // namespace

std::string AnswerJson(const Answer& answer) {
  return std::visit([](const auto& one) { return Json(one); }, answer);
}

}  // namespace vesta::query
