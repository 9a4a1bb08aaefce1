// A plan and what its steps read, for --explain.
#include <string>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/flame/units.h"
#include "src/query/plan.h"

namespace vesta::query {
namespace {

std::string RangeText(const store::TimeRange& range) {
  return UnixMsText(range.from_unix_ms) + ".." + UnixMsText(range.to_unix_ms);
}

void WriteRange(const store::TimeRange& range, base::JsonWriter& json) {
  json.Key("from_unix_ms").Int(range.from_unix_ms).Key("to_unix_ms").Int(range.to_unix_ms);
}

}  // namespace

std::string ExplainText(const Plan& plan, const std::vector<StepReport>& steps) {
  std::string text = "question: " + std::string(QuestionName(plan.question)) +
                     "\ntype: " + base::Printable(plan.type.type.type) + ':' +
                     base::Printable(plan.type.type.unit) +
                     (plan.type.shows_count ? ", its count" : "") + "\nby:";
  for (const std::string& name : plan.by) text += ' ' + base::Printable(name);
  text += "\ngroups: " + std::to_string(plan.groups.size()) +
          (plan.by_tasks ? ", by tasks: rows are read" : "") + "\nplan:\n";
  for (const PlanRead& read : plan.reads) {
    text += "  read " + std::string(ReadKindName(read.kind)) + ' ' + RangeText(read.range) + ", " +
            std::to_string(read.series.size()) + " series, " + std::to_string(read.types.size()) +
            " types" + (read.step_ms == 0 ? "" : ", step " + DurationText(read.step_ms)) + '\n';
  }
  text += "done:\n";
  for (const StepReport& step : steps) {
    text += "  " + step.what;
    if (step.range != store::TimeRange{}) text += ' ' + RangeText(step.range);
    if (step.series != 0) text += ", " + std::to_string(step.series) + " series";
    if (step.blocks != 0) text += ", " + std::to_string(step.blocks) + " blocks";
    if (step.sums != 0) text += ", " + std::to_string(step.sums) + " sums";
    if (step.time_ns != 0) text += ": " + flame::ScaledText(step.time_ns, "nanoseconds");
    text += '\n';
  }
  return text;
}

std::string ExplainJson(const Plan& plan, const std::vector<StepReport>& steps) {
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
  json.EndArray().EndObject();
  return json.Take() + '\n';
}

}  // namespace vesta::query
