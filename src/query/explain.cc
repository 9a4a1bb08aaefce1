// A plan and what its steps read, for --explain.
#include <string>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/flame/units.h"
#include "src/query/plan.h"

namespace vesta::query {
namespace {

std::string Number(uint64_t count, std::string_view what, std::string_view many = {}) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1) return text.append(what);
  return many.empty() ? text.append(what) + 's' : text.append(many);
}

// " A to B", where it is not the one of the heading.
std::string OwnRangeText(const Plan& plan, const store::TimeRange& range) {
  if (range == store::TimeRange{} || range == plan.ranges[0]) return {};
  return ", " + RangeText(range);
}

void WriteRange(const store::TimeRange& range, base::JsonWriter& json) {
  json.Key("from_unix_ms").Int(range.from_unix_ms).Key("to_unix_ms").Int(range.to_unix_ms);
}

}  // namespace

std::string ExplainText(const Plan& plan, const std::vector<StepReport>& steps,
                        const QueryCost& cost) {
  std::string text = "question: " + std::string(QuestionName(plan.question)) +
                     "\ntype: " + base::Printable(plan.type.type.type) + ':' +
                     base::Printable(plan.type.type.unit) +
                     (plan.type.shows_count ? ", its count" : "") +
                     "\nrange: " + RangeText(plan.ranges[0]) + "\nby:";
  for (const std::string& name : plan.by) text += ' ' + base::Printable(name);
  text += "\ngroups: " + std::to_string(plan.groups.size()) +
          (plan.by_tasks ? ", by tasks: rows are read" : "") + "\nplan:\n";
  for (const PlanRead& read : plan.reads) {
    text += "  read " + std::string(ReadKindName(read.kind)) + OwnRangeText(plan, read.range) +
            ", " + Number(read.series.size(), "series", "series") + ", " +
            Number(read.types.size(), "type") +
            (read.step_ms == 0 ? "" : ", step " + DurationText(read.step_ms)) + '\n';
  }
  text += "done:\n";
  for (const StepReport& step : steps) {
    text += "  " + step.what + OwnRangeText(plan, step.range);
    if (step.series != 0) text += ", " + Number(step.series, "series", "series");
    if (step.blocks != 0) text += ", " + Number(step.blocks, "block");
    if (step.sums != 0) text += ", " + Number(step.sums, "sum");
    if (step.time_ns != 0) text += ": " + flame::ScaledText(step.time_ns, "nanoseconds");
    text += '\n';
  }
  text += "all together: ";
  if (cost.time_ns != 0) text += flame::ScaledText(cost.time_ns, "nanoseconds") + ", ";
  if (cost.memory_bytes != 0)
    text += flame::ScaledText(static_cast<int64_t>(cost.memory_bytes), "bytes") + " of memory, ";
  text += Number(cost.files, "file");
  if (cost.index_bytes != 0)
    text += ", " + flame::ScaledText(static_cast<int64_t>(cost.index_bytes), "bytes") + " of sums";
  if (cost.rows != 0) {
    text += "\nrow by row: " + Number(cost.rows, "row") + ", " +
            flame::ScaledText(static_cast<int64_t>(cost.row_bytes), "bytes");
  }
  return text + '\n';
}

std::string ExplainJson(const Plan& plan, const std::vector<StepReport>& steps,
                        const QueryCost& cost) {
  base::JsonWriter json;
  json.BeginObject().Key("question").String(QuestionName(plan.question));
  json.Key("type").String(plan.type.type.type).Key("unit").String(plan.type.type.unit);
  json.Key("shown").String(plan.type.shows_count ? "count" : "value");
  json.Key("by").BeginArray();
  for (const std::string& name : plan.by) json.String(name);
  json.EndArray().Key("groups").Uint(plan.groups.size()).Key("by_tasks").Bool(plan.by_tasks);
  json.Key("reads").BeginArray();
  for (const PlanRead& read : plan.reads) {
    json.BeginObject().Key("kind").String(ReadKindName(read.kind));
    WriteRange(read.range, json);
    json.Key("series").Uint(read.series.size()).Key("types").Uint(read.types.size());
    json.Key("step_ms").Int(read.step_ms).EndObject();
  }
  json.EndArray().Key("steps").BeginArray();
  for (const StepReport& step : steps) {
    json.BeginObject().Key("what").String(step.what);
    if (step.range != store::TimeRange{}) WriteRange(step.range, json);
    json.Key("series").Uint(step.series).Key("blocks").Uint(step.blocks);
    json.Key("sums").Uint(step.sums).Key("time_ns").Int(step.time_ns).EndObject();
  }
  json.EndArray().Key("cost").BeginObject();
  json.Key("time_ns").Int(cost.time_ns).Key("memory_bytes").Uint(cost.memory_bytes);
  json.Key("files").Uint(cost.files).Key("rows").Uint(cost.rows);
  json.Key("row_bytes").Uint(cost.row_bytes);
  json.Key("index_bytes").Uint(cost.index_bytes).EndObject().EndObject();
  return json.Take() + '\n';
}

}  // namespace vesta::query
