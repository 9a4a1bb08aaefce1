#include "src/wire/cpuprofile_decoder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/json_pull.h"
#include "src/wire/v8_profile.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::JsonDecimal;
using base::JsonPull;
using base::Result;
using profile::Profile;

constexpr size_t kAbsent = SIZE_MAX;
constexpr size_t kDepthMax = 10'000;   // two levels per call of the old form
constexpr int kMicrosecondsPower = 3;  // to nanoseconds

// One profile of the file while it is read.
struct Part {
  V8Profile profile;
  int64_t time_ns = 0;  // of the last sample
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // 0 = unknown
  bool has_times = false;
  // Of a trace.
  uint64_t pid = 0;
  uint64_t tid = 0;
};

bool TakeTime(JsonPull& pull, int power, int64_t* out) {
  JsonDecimal number;
  bool rounded = false;
  if (!pull.Number(&number)) return false;
  const auto value = number.ToInt(power, &rounded);
  if (!value) return pull.Refuse("is beyond 63 bits in nanoseconds");
  *out = *value;
  return true;
}

bool TakeCount(JsonPull& pull, int64_t* out) {
  uint64_t value = 0;
  if (!pull.Uint(&value)) return false;
  *out = static_cast<int64_t>(value);
  return true;
}

// Reads nodes into a V8Profile.
class NodeReader {
 public:
  NodeReader(Profile& profile, V8Profile& nodes) : profile_(profile), nodes_(nodes) {}

  // An array of nodes that name each other by id.
  bool ReadList(JsonPull& pull) {
    std::string_view key;
    pull.EnterArray();
    while (pull.NextItem()) {
      Open node{nodes_.AddNode({})};
      pull.EnterObject();
      while (pull.NextKey(&key)) {
        if (key == "children") {
          ReadChildIds(pull, node.index);
        } else {
          ReadMember(pull, key, &node);
        }
      }
      Close(pull, node);
    }
    return pull.ok();
  }

  // The old form: a node holds its children.
  bool ReadTree(JsonPull& pull) {
    std::string_view key;
    std::vector<Open> open;
    const auto enter = [&] {
      if (pull.EnterObject()) open.push_back({nodes_.AddNode({})});
    };
    const auto enter_child = [&] {
      if (!pull.NextItem()) return;
      const uint32_t parent = open.back().index;
      enter();
      if (pull.ok()) nodes_.SetParent(open.back().index, parent);
    };
    enter();
    while (pull.ok() && !open.empty()) {
      if (pull.NextKey(&key)) {
        if (key != "children") {
          ReadMember(pull, key, &open.back());
        } else if (pull.EnterArray()) {
          enter_child();
        }
      } else if (pull.ok()) {
        Close(pull, open.back());
        open.pop_back();
        if (!open.empty()) enter_child();
      }
    }
    return pull.ok();
  }

 private:
  struct Open {
    uint32_t index;
    V8Frame frame = {};
    bool has_frame = false;
    bool counts_from_one = false;
  };

  void Close(JsonPull& pull, Open& node) {
    if (!pull.ok()) return;
    if (!node.has_frame) {
      pull.Refuse("lacks callFrame and functionName");
      return;
    }
    const int64_t from_one = node.counts_from_one ? 0 : 1;
    node.frame.line = std::max<int64_t>(0, node.frame.line + from_one);
    node.frame.column = std::max<int64_t>(0, node.frame.column + from_one);
    nodes_.SetFrame(node.index, node.frame);
  }

  void ReadMember(JsonPull& pull, std::string_view key, Open* node) {
    uint64_t number = 0;
    int64_t count = 0;
    if (key == "id") {
      if (!pull.Uint(&number)) return;
      const auto set = nodes_.SetId(node->index, number);
      if (!set.ok()) pull.Refuse("is the id of two nodes");
    } else if (key == "parent") {
      if (pull.Uint(&number)) nodes_.AddParentId(node->index, number);
    } else if (key == "hitCount") {
      if (TakeCount(pull, &count)) nodes_.SetHits(node->index, count);
    } else if (key == "callFrame") {
      node->has_frame = true;
      pull.EnterObject();
      while (pull.NextKey(&key)) ReadFrameMember(pull, key, node);
    } else if (key == "positionTicks") {
      ReadTicks(pull, node->index);
    } else {
      if (key == "functionName") node->has_frame = node->counts_from_one = true;
      ReadFrameMember(pull, key, node);
    }
  }

  void ReadFrameMember(JsonPull& pull, std::string_view key, Open* node) {
    std::string_view text;
    JsonDecimal number;
    bool rounded = false;
    if (key == "functionName") {
      if (pull.String(&text)) node->frame.name = profile_.InternString(text);
    } else if (key == "url") {
      if (pull.String(&text)) node->frame.url = profile_.InternString(text);
    } else if (key == "lineNumber" || key == "columnNumber") {
      if (!pull.Number(&number)) return;
      const auto value = number.ToInt(0, &rounded);
      if (!value || rounded || *value > INT32_MAX || *value < INT32_MIN) {
        pull.Refuse("is no line or column");
        return;
      }
      (key == "lineNumber" ? node->frame.line : node->frame.column) = *value;
    } else {
      pull.Skip();
    }
  }

  void ReadChildIds(JsonPull& pull, uint32_t node) {
    uint64_t id = 0;
    if (pull.Peek() == JsonPull::Kind::kNull) {
      pull.Skip();
      return;
    }
    pull.EnterArray();
    while (pull.NextItem()) {
      if (pull.Uint(&id)) nodes_.AddChildId(node, id);
    }
  }

  void ReadTicks(JsonPull& pull, uint32_t node) {
    std::string_view key;
    pull.EnterArray();
    while (pull.NextItem()) {
      int64_t line = 0;
      int64_t ticks = 0;
      pull.EnterObject();
      while (pull.NextKey(&key)) {
        if (key == "line") {
          TakeCount(pull, &line);
        } else if (key == "ticks") {
          TakeCount(pull, &ticks);
        } else {
          pull.Skip();
        }
      }
      if (pull.ok() && ticks > 0) nodes_.AddTicks(node, line, ticks);
    }
  }

  Profile& profile_;
  V8Profile& nodes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view text) : pull_(text, kDepthMax), places_(profile_) {}

  Result<Profile> Run() {
    if (pull_.Peek() == JsonPull::Kind::kArray) {
      RETURN_IF_ERROR(ReadEvents());
    } else {
      RETURN_IF_ERROR(ReadFile());
    }
    return Finish();
  }

 private:
  static bool Mark(JsonPull& pull, size_t* offset) {
    if (*offset != kAbsent) return pull.Refuse("is there twice");
    *offset = pull.NextOffset();
    return pull.Skip();
  }

  static Error Missing(const std::string& what) {
    return Error(ErrorCode::kCorrupt, "no V8 CPU profile: " + what);
  }

  // {nodes or head, samples, timeDeltas or timestamps, startTime, endTime} or {traceEvents}
  Result<void> ReadFile() {
    size_t nodes = kAbsent;
    size_t head = kAbsent;
    size_t start = kAbsent;
    size_t end = kAbsent;
    bool is_trace = false;
    std::string_view key;
    pull_.EnterObject();
    while (pull_.NextKey(&key)) {
      if (key == "nodes") {
        Mark(pull_, &nodes);
      } else if (key == "head") {
        Mark(pull_, &head);
      } else if (key == "samples") {
        Mark(pull_, &lists_.samples);
      } else if (key == "timeDeltas") {
        Mark(pull_, &lists_.deltas);
      } else if (key == "timestamps") {
        Mark(pull_, &lists_.stamps);
      } else if (key == "startTime") {
        Mark(pull_, &start);
      } else if (key == "endTime") {
        Mark(pull_, &end);
      } else if (key == "traceEvents" && !is_trace) {
        is_trace = true;
        RETURN_IF_ERROR(ReadEventList(pull_));
      } else {
        pull_.Skip();
      }
    }
    if (!pull_.End()) return pull_.error();
    if (is_trace) return {};
    if (nodes == kAbsent && head == kAbsent) return Missing("it has neither nodes nor head");
    Part& part = parts_[{}];
    NodeReader reader(profile_, part.profile);
    JsonPull pull = nodes != kAbsent ? pull_.At(nodes, "nodes") : pull_.At(head, "head");
    if (!(nodes != kAbsent ? reader.ReadList(pull) : reader.ReadTree(pull))) return pull.error();
    RETURN_IF_ERROR(part.profile.Link());
    // The old form has its start and end in seconds of another clock than its time stamps.
    if (nodes != kAbsent) {
      RETURN_IF_ERROR(ReadTime(start, "startTime", &part.start_ns));
      RETURN_IF_ERROR(ReadTime(end, "endTime", &part.end_ns));
    }
    part.time_ns = part.start_ns;
    return ReadSamples(lists_, "", part);
  }

  Result<void> ReadTime(size_t offset, const std::string& path, int64_t* out) {
    if (offset == kAbsent) return {};
    JsonPull pull = pull_.At(offset, path);
    if (!TakeTime(pull, kMicrosecondsPower, out)) return pull.error();
    return {};
  }

  struct Lists {
    size_t samples = kAbsent;
    size_t deltas = kAbsent;  // of time to the sample before
    size_t stamps = kAbsent;
  };

  // Both lists side by side.
  Result<void> ReadSamples(const Lists& lists, const std::string& path, Part& part) {
    if (lists.samples == kAbsent) return {};
    const bool has_stamps = lists.stamps != kAbsent;
    const bool has_times = has_stamps || lists.deltas != kAbsent;
    const std::string times_name = has_stamps ? "timestamps" : "timeDeltas";
    JsonPull samples = pull_.At(lists.samples, path + "samples");
    JsonPull times = pull_.At(has_stamps  ? lists.stamps
                              : has_times ? lists.deltas
                                          : lists.samples,
                              path + times_name);
    part.profile.SetHasSamples();
    part.has_times = part.has_times || has_times;
    uint64_t id = 0;
    int64_t time = 0;
    samples.EnterArray();
    times.EnterArray();
    for (;;) {
      const bool more = samples.NextItem();
      const bool more_times = times.NextItem();
      if (!samples.ok() || !times.ok()) break;
      if (more != more_times)
        return Missing(path + "samples and " + path + times_name + " differ in length");
      if (!more) return {};
      if (!samples.Uint(&id)) break;
      const uint32_t node = part.profile.Find(id);
      if (node == V8Profile::kNoNode) {
        samples.Refuse("is " + std::to_string(id) + ", which is the id of no node");
        break;
      }
      if (!has_times) {
        part.profile.AddUntimedSample(node);
        times.Skip();
        continue;
      }
      if (!TakeTime(times, kMicrosecondsPower, &time)) break;
      if (!has_stamps && __builtin_add_overflow(part.time_ns, time, &time)) {
        times.Refuse("makes the time go beyond 63 bits");
        break;
      }
      part.time_ns = time;
      part.profile.AddSample(node, time);
    }
    return samples.ok() ? times.error() : samples.error();
  }

  // A trace of Chrome.
  Result<void> ReadEvents() {
    RETURN_IF_ERROR(ReadEventList(pull_));
    if (!pull_.End()) return pull_.error();
    return {};
  }

  Result<void> ReadEventList(JsonPull& pull) {
    is_trace_ = true;
    pull.EnterArray();
    while (pull.NextItem()) RETURN_IF_ERROR(ReadEvent(pull));
    if (!pull.ok()) return pull.error();
    return {};
  }

  Result<void> ReadEvent(JsonPull& pull) {
    std::string_view key;
    std::string_view text;
    std::string name;
    std::string id;
    uint64_t pid = 0;
    uint64_t tid = 0;
    size_t args = kAbsent;
    if (!pull.EnterObject()) return pull.error();
    while (pull.NextKey(&key)) {
      const bool is_text = pull.Peek() == JsonPull::Kind::kString;
      const bool is_number = pull.Peek() == JsonPull::Kind::kNumber;
      if (key == "name" && is_text) {
        if (pull.String(&text)) name = text;
      } else if (key == "id" && is_text) {
        if (pull.String(&text)) id = text;
      } else if (key == "pid" && is_number) {
        pull.Uint(&pid);
      } else if (key == "tid" && is_number) {
        pull.Uint(&tid);
      } else if (key == "args") {
        Mark(pull, &args);
      } else {
        pull.Skip();
      }
    }
    if (!pull.ok()) return pull.error();
    if (args == kAbsent) return {};
    const bool is_start = name == "Profile";
    JsonPull inner = pull.At(args, pull.Path() + ".args");
    if (name == "thread_name") {
      ReadThreadName(inner, {pid, tid});
    } else if (is_start || name == "ProfileChunk" || name == "CpuProfile") {
      Part& part = parts_[{pid, id}];
      part.pid = pid;
      if (is_start || part.tid == 0) part.tid = tid;
      RETURN_IF_ERROR(ReadChunk(inner, part));
    }
    if (!inner.ok()) return inner.error();
    return {};
  }

  void ReadThreadName(JsonPull& pull, std::pair<uint64_t, uint64_t> thread) {
    std::string_view key;
    std::string_view text;
    pull.EnterObject();
    while (pull.NextKey(&key)) {
      if (key != "name") {
        pull.Skip();
      } else if (pull.String(&text)) {
        thread_names_[thread] = text;
      }
    }
  }

  // {data: {startTime, endTime, timeDeltas, cpuProfile: {nodes, samples, timeDeltas, endTime}}}
  Result<void> ReadChunk(JsonPull& pull, Part& part) {
    Lists lists;
    size_t nodes = kAbsent;
    const std::string path = pull.Path() + ".data.";
    const auto member = [&](std::string_view key) {
      if (key == "timeDeltas") {
        Mark(pull, &lists.deltas);
      } else if (key == "startTime") {
        TakeTime(pull, kMicrosecondsPower, &part.start_ns);
        if (!part.profile.has_samples()) part.time_ns = part.start_ns;
      } else if (key == "endTime") {
        TakeTime(pull, kMicrosecondsPower, &part.end_ns);
      } else if (key == "nodes") {
        Mark(pull, &nodes);
      } else if (key == "samples") {
        Mark(pull, &lists.samples);
      } else {
        pull.Skip();
      }
    };
    std::string_view key;
    pull.EnterObject();
    while (pull.NextKey(&key)) {
      if (key != "data") {
        pull.Skip();
        continue;
      }
      pull.EnterObject();
      while (pull.NextKey(&key)) {
        if (key != "cpuProfile") {
          member(key);
          continue;
        }
        pull.EnterObject();
        while (pull.NextKey(&key)) member(key);
      }
    }
    if (!pull.ok()) return pull.error();
    if (nodes != kAbsent) {
      JsonPull inner = pull.At(nodes, path + "nodes");
      if (!NodeReader(profile_, part.profile).ReadList(inner)) return inner.error();
      RETURN_IF_ERROR(part.profile.Link().Context(path));
    }
    return ReadSamples(lists, path, part);
  }

  Result<Profile> Finish() {
    size_t nodes = 0;
    bool with_time = false;
    for (const auto& [id, part] : parts_) {
      nodes += part.profile.node_count();
      with_time = with_time || part.has_times;
    }
    if (is_trace_ && nodes == 0) {
      return Error(ErrorCode::kUnsupported,
                   "it is a trace of events without a CPU profile of V8 (Profile, ProfileChunk)");
    }
    std::vector<profile::ValueType> types = {profile_.InternValueType("samples", "count")};
    if (with_time) types.push_back(profile_.InternValueType("wall", "nanoseconds"));
    profile_.SetSampleTypes(std::move(types));
    for (auto& [id, part] : parts_) {
      int64_t duration = 0;
      if (part.end_ns > 0 && !__builtin_sub_overflow(part.end_ns, part.start_ns, &duration))
        profile_.header().duration_ns = std::max(profile_.header().duration_ns, duration);
      RETURN_IF_ERROR(part.profile.AddToProfile(profile_, places_, LabelsOf(part), with_time,
                                                part.end_ns, budget_));
    }
    return std::move(profile_);
  }

  profile::LabelSetId LabelsOf(const Part& part) {
    if (!is_trace_) return {};
    std::vector<profile::Label> labels;
    const auto name = thread_names_.find({part.pid, part.tid});
    if (name != thread_names_.end() && !name->second.empty())
      labels.push_back(profile_.TextLabel(profile::kLabelThread, name->second));
    labels.push_back(profile_.NumberLabel(profile::kLabelPid, static_cast<int64_t>(part.pid)));
    labels.push_back(profile_.NumberLabel(profile::kLabelTid, static_cast<int64_t>(part.tid)));
    return profile_.InternLabels(labels);
  }

  JsonPull pull_;
  Profile profile_;
  V8Places places_;
  Lists lists_;
  bool is_trace_ = false;
  std::map<std::pair<uint64_t, std::string>, Part> parts_;  // by pid and id of the profile
  std::map<std::pair<uint64_t, uint64_t>, std::string> thread_names_;
  StackBudget budget_;
};

// Traces are written as they come, and often end without their bracket.
std::optional<std::string> Closed(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '[') return std::nullopt;
  if (text[last] != ',' && text[last] != '}') return std::nullopt;
  return std::string(text.substr(0, text[last] == ',' ? last : last + 1)) + "]";
}

}  // namespace

Result<Profile> DecodeCpuProfile(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::optional<std::string> closed = Closed(text);
  return Decoder(closed ? std::string_view(*closed) : text).Run();
}

}  // namespace vesta::wire
