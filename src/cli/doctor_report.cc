#include "src/cli/doctor_report.h"

#include <algorithm>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/cli/always_on/cpu_limit.h"

namespace vesta::cli {
namespace {

using agent::source::Feature;
using agent::source::Importance;
using agent::source::Presence;

constexpr size_t kNameColumns = 18;

void WriteFeature(const Feature& feature, base::JsonWriter& writer) {
  writer.BeginObject().Key("name").String(feature.name);
  writer.Key("needed").Bool(feature.importance == Importance::kNeeded).Key("present");
  if (feature.presence == Presence::kNotTried) {
    writer.Null();
  } else {
    writer.Bool(feature.presence == Presence::kYes);
  }
  writer.Key("meaning").String(feature.meaning);
  writer.Key("detail").String(feature.detail);
  writer.Key("remedy").String(feature.remedy).EndObject();
}

std::string Paint(const char* code, const std::string& text, bool color) {
  return color ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

std::string Mark(const Feature& feature, bool color) {
  switch (feature.presence) {
    case Presence::kYes:
      return Paint("32", "yes ", color);
    case Presence::kNotTried:
      return "?   ";
    case Presence::kNo:
      break;
  }
  return feature.importance == Importance::kNeeded ? Paint("1;31", "NO  ", color)
                                                   : Paint("33", "no  ", color);
}

void AppendFeature(const Feature& feature, bool color, std::string* out) {
  const std::string indent(4 + 2 + kNameColumns, ' ');
  std::string name = feature.name;
  name.resize(std::max(name.size() + 1, kNameColumns), ' ');
  *out += "  " + Mark(feature, color) + name + feature.meaning + "\n";
  if (feature.presence == Presence::kYes) return;
  if (!feature.detail.empty()) *out += indent + "why: " + feature.detail + "\n";
  *out += indent + "to mend: " + feature.remedy + "\n";
}

// From the ticks of this machine to the rows of the server.
std::vector<book::FlowLine> FlowOf(const DoctorReport& report) {
  std::vector<book::FlowLine> flow;
  if (report.agent) flow = book::FlowOfAgent(*report.agent);
  if (report.server && report.server->counts) {
    for (book::FlowLine& line : book::FlowOfServer(*report.server->counts)) {
      flow.push_back(std::move(line));
    }
  }
  return flow;
}

std::string FlowText(const DoctorReport& report) {
  std::string out = "\nThe way of the agent's samples: what came to each step, and what left it\n";
  out += base::PrintableLines(book::FlowText(FlowOf(report)));
  if (!report.server) return out;
  if (!report.server->error.empty()) {
    out += "  beyond: not known, " + base::Printable(report.server->error) + "\n";
  } else if (!report.server->counts) {
    out += "  beyond: " + base::Printable(report.server->url) +
           " has heard nothing of this agent since it was started\n";
  }
  return out;
}

}  // namespace

std::string DoctorJson(const DoctorReport& report) {
  base::JsonWriter writer;
  writer.BeginObject().Key("version").String(VESTA_VERSION);
  writer.Key("kernel").String(report.machine.kernel_release);
  writer.Key("architecture").String(report.machine.architecture);
  writer.Key("cpus_online").Uint(report.machine.cpus_online);
  writer.Key("can_record").Bool(report.machine.CanRecord());
  writer.Key("features").BeginArray();
  for (const Feature& feature : report.machine.features) WriteFeature(feature, writer);
  writer.EndArray();
  writer.Key("state_dir").String(report.state_dir);
  writer.Key("settings").BeginArray();
  for (const EffectiveSetting& setting : report.settings) {
    writer.BeginObject().Key("name").String(setting.name).Key("value").String(setting.text);
    writer.Key("origin").String(setting.origin).EndObject();
  }
  writer.EndArray();
  writer.Key("last_recording");
  if (report.last_recording) {
    book::WriteBook(*report.last_recording, writer);
  } else {
    writer.Null();
  }
  writer.Key("agent");
  if (report.agent) {
    book::WriteBook(*report.agent, writer);
  } else {
    writer.Null();
  }
  writer.Key("last_recording_error").String(report.last_recording_error);
  writer.Key("server");
  if (report.server) {
    writer.BeginObject().Key("url").String(report.server->url);
    writer.Key("error").String(report.server->error);
    writer.Key("knows_agent").Bool(report.server->counts.has_value()).EndObject();
  } else {
    writer.Null();
  }
  writer.Key("flow");
  book::WriteFlow(FlowOf(report), writer);
  writer.EndObject();
  return writer.Take();
}

std::string DoctorText(const DoctorReport& report, bool color) {
  std::string out = "vesta " VESTA_VERSION " on Linux " + report.machine.kernel_release + ", " +
                    report.machine.architecture + ", " +
                    std::to_string(report.machine.cpus_online) + " CPUs\n\n";
  for (const Importance importance : {Importance::kNeeded, Importance::kBetter}) {
    out += importance == Importance::kNeeded ? "Needed\n" : "\nBetter with\n";
    for (const Feature& feature : report.machine.features) {
      if (feature.importance == importance) AppendFeature(feature, color, &out);
    }
  }
  out += report.machine.CanRecord() ? "\nRecording is possible here.\n"
                                    : "\nRecording is NOT possible here: mend what is marked NO.\n";
  out += "\nSettings that are not the default\n";
  if (report.settings.empty()) out += "  none\n";
  for (const EffectiveSetting& setting : report.settings) {
    out += "  " + setting.name + " = " + setting.text + "   (" + setting.origin + ")\n";
  }
  out += "\nThe book of the last recording, from " + report.state_dir + "\n";
  if (report.last_recording) {
    out += base::PrintableLines(book::BookToText(*report.last_recording));
  } else if (!report.last_recording_error.empty()) {
    out += "  it cannot be read: " + report.last_recording_error + "\n";
  } else {
    out += "  nothing was recorded yet\n";
  }
  if (report.agent) {
    out += "\nThe book of the agent, from " + report.state_dir + "\n";
    out += base::PrintableLines(book::BookToText(*report.agent, "Agent since"));
    if (const std::string text = SamplingText(*report.agent); !text.empty()) {
      out += "sampling: " + text + "\n";
    }
    out += FlowText(report);
  }
  return out;
}

}  // namespace vesta::cli
