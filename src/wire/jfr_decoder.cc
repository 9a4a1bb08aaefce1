#include "src/wire/jfr_decoder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/wire/jfr_chunk.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::LocationId;
using profile::Profile;
using profile::StackId;

enum Column : uint8_t {
  kSamples,
  kCpu,
  kNativeSamples,
  kWallSamples,
  kWall,
  kAllocSpace,
  kTlabSpace,  // stands for kAllocSpace where that is absent
  kContentions,
  kDelay,
  kColumnCount,
};

struct ColumnName {
  std::string_view type;
  std::string_view unit;
};
constexpr std::array<ColumnName, kColumnCount> kColumnNames = {{
    {"samples", "count"},
    {"cpu", "nanoseconds"},
    {"native_samples", "count"},
    {"wall_samples", "count"},
    {"wall", "nanoseconds"},
    {"alloc_space", "bytes"},
    {"alloc_space", "bytes"},
    {"contentions", "count"},
    {"delay", "nanoseconds"},
}};

enum class Source : uint8_t {
  kExecution,
  kNative,
  kWall,
  kAllocation,
  kTlab,
  kMonitor,
  kSetting,
};

std::optional<Source> SourceOf(std::string_view event) {
  struct Known {
    std::string_view event;
    Source source;
  };
  static constexpr Known kKnown[] = {
      {"jdk.ExecutionSample", Source::kExecution},
      {"jdk.NativeMethodSample", Source::kNative},
      {"profiler.WallClockSample", Source::kWall},
      {"jdk.ObjectAllocationSample", Source::kAllocation},
      {"jdk.ObjectAllocationInNewTLAB", Source::kTlab},
      {"jdk.ObjectAllocationOutsideTLAB", Source::kTlab},
      {"jdk.JavaMonitorEnter", Source::kMonitor},
      {"jdk.ActiveSetting", Source::kSetting},
  };
  for (const Known& known : kKnown) {
    if (known.event == event) return known.source;
  }
  return std::nullopt;
}

// "20 ms" of a JVM, "10000000" of async-profiler, which counts nanoseconds; 0 for "beginChunk".
int64_t PeriodOf(std::string_view text) {
  int64_t value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || value <= 0) return 0;
  std::string_view unit(stop, static_cast<size_t>(text.data() + text.size() - stop));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  struct Unit {
    std::string_view name;
    int64_t ns;
  };
  static constexpr Unit kUnits[] = {{"", 1},
                                    {"ns", 1},
                                    {"us", 1'000},
                                    {"ms", 1'000'000},
                                    {"s", 1'000'000'000},
                                    {"m", 60'000'000'000}};
  for (const Unit& known : kUnits) {
    if (known.name == unit && value <= std::numeric_limits<int64_t>::max() / known.ns)
      return value * known.ns;
  }
  return 0;
}

// "java/lang/Thread" -> "java.lang.Thread". The address behind the name of a hidden class, such as
// those of lambdas, is another one in each process.
std::string ClassName(std::string name) {
  const size_t address = std::min(name.find("+0x"), name.find("/0x"));
  if (address != 0 && address != std::string::npos) name.resize(address);
  std::ranges::replace(name, '/', '.');
  return name;
}

// What an event says, whatever its kind.
struct EventValues {
  uint64_t stack_trace = 0;
  uint64_t thread = 0;
  uint64_t state = 0;
  int64_t duration_ticks = 0;
  int64_t bytes = 0;
  int64_t samples = 1;
  int64_t time_span_ticks = 0;
  int64_t id = 0;
  JfrString name;
  JfrString value;
};

// The rows of all chunks, until all of them are known.
struct Row {
  StackId stack;
  profile::LabelSetId labels;
  Column column = kSamples;  // of values[0]; values[1] belongs to the next one
  std::array<int64_t, 2> values = {};
};

// One chunk's events -> rows of the profile.
class ChunkDecoder {
 public:
  ChunkDecoder(JfrChunk& chunk, const JfrChunkHeader& header, Profile& profile,
               std::vector<Row>& rows)
      : chunk_(chunk), header_(header), profile_(profile), rows_(rows) {}

  Result<void> Run() {
    // The settings tell what a sample is worth, wherever they stand.
    for (const bool settings : {true, false}) {
      for (const JfrEvent& event : chunk_.events()) {
        const auto source = SourceOf(chunk_.types()[event.type].name);
        if (!source.has_value() || (*source == Source::kSetting) != settings) continue;
        ASSIGN_OR_RETURN(const EventValues values, ReadEvent(event));
        if (settings)
          AddSetting(values);
        else
          AddRow(*source, chunk_.types()[event.type].id, values);
      }
    }
    return {};
  }

 private:
  Result<EventValues> ReadEvent(const JfrEvent& event) {
    const JfrType& type = chunk_.types()[event.type];
    EventValues values;
    JfrReader reader(event.fields);
    for (const JfrField& field : type.fields) {
      if (field.role == JfrRole::kName)
        values.name = chunk_.ReadString(reader, field);
      else if (field.role == JfrRole::kValue)
        values.value = chunk_.ReadString(reader, field);
      else
        Take(field.role, chunk_.ReadNumber(reader, field), values);
    }
    if (!reader.ok()) return Error(ErrorCode::kCorrupt, "an event " + type.name + " ends early");
    return values;
  }

  static void Take(JfrRole role, int64_t number, EventValues& values) {
    switch (role) {
      case JfrRole::kStackTrace:
        values.stack_trace = static_cast<uint64_t>(number);
        break;
      case JfrRole::kThread:
        values.thread = static_cast<uint64_t>(number);
        break;
      case JfrRole::kState:
        values.state = static_cast<uint64_t>(number);
        break;
      case JfrRole::kDuration:
        values.duration_ticks = number;
        break;
      case JfrRole::kAllocationSize:
        // Where a TLAB was taken, its size is what stands for the allocations in it.
        if (values.bytes == 0) values.bytes = number;
        break;
      case JfrRole::kTlabSize:
      case JfrRole::kWeight:
        values.bytes = number;
        break;
      case JfrRole::kSamples:
        values.samples = number;
        break;
      case JfrRole::kTimeSpan:
        values.time_span_ticks = number;
        break;
      case JfrRole::kId:
        values.id = number;
        break;
      default:
        break;
    }
  }

  void AddSetting(const EventValues& values) {
    const std::string& name = chunk_.Text(values.name);
    const std::string& value = chunk_.Text(values.value);
    // async-profiler may sample what is no time of a CPU: "wall", "cache-misses".
    if (name == "event") counts_cpu_ = value == "cpu" || value == "itimer" || value == "ctimer";
    if (name != "period" && name != "interval") return;
    const int64_t period_ns = PeriodOf(value);
    if (period_ns > 0) period_ns_of_type_[static_cast<uint64_t>(values.id)] = period_ns;
  }

  int64_t Nanoseconds(int64_t ticks) const {
    if (ticks <= 0) return 0;
    const auto ns =
        static_cast<unsigned __int128>(ticks) * 1'000'000'000u / header_.ticks_per_second;
    constexpr auto kMax = static_cast<unsigned __int128>(std::numeric_limits<int64_t>::max());
    return static_cast<int64_t>(std::min(ns, kMax));
  }

  void AddRow(Source source, uint64_t type_id, const EventValues& values) {
    Row row;
    row.stack = StackOf(values.stack_trace);
    row.labels = LabelsOf(values);
    switch (source) {
      case Source::kExecution: {
        const auto period = period_ns_of_type_.find(type_id);
        row.column = kSamples;
        row.values = {1, period == period_ns_of_type_.end() || !counts_cpu_ ? 0 : period->second};
        break;
      }
      case Source::kNative:
        row.column = kNativeSamples;
        row.values = {1, 0};
        break;
      case Source::kWall:
        row.column = kWallSamples;
        row.values = {values.samples, Nanoseconds(values.time_span_ticks)};
        break;
      case Source::kAllocation:
        row.column = kAllocSpace;
        row.values = {values.bytes, 0};
        break;
      case Source::kTlab:
        row.column = kTlabSpace;
        row.values = {values.bytes, 0};
        break;
      case Source::kMonitor:
        row.column = kContentions;
        row.values = {1, Nanoseconds(values.duration_ticks)};
        break;
      case Source::kSetting:
        return;
    }
    rows_.push_back(row);
  }

  StackId StackOf(uint64_t key) {
    const auto [entry, is_new] = stacks_.try_emplace(key);
    if (!is_new) return entry->second;
    const auto trace = chunk_.constants().stack_traces.find(key);
    if (trace == chunk_.constants().stack_traces.end()) return entry->second;
    const auto frames = std::span(chunk_.constants().frames)
                            .subspan(trace->second.frames_begin, trace->second.frame_count);
    std::vector<LocationId> stack;
    lines_.clear();
    for (size_t i = 0; i < frames.size(); ++i) {
      const std::string_view type = FrameType(frames[i].type);
      lines_.push_back(LineOf(frames[i]));
      // An inlined method stands in the location of the method that it was inlined into.
      if (type == "Inlined" && i + 1 < frames.size()) continue;
      const profile::MappingId mapping = type == "Kernel" ? KernelMapping() : profile::kNoMapping;
      stack.push_back(profile_.InternLocation({mapping, 0, false, lines_}));
      lines_.clear();
    }
    entry->second = profile_.InternStack(stack);
    return entry->second;
  }

  std::string_view FrameType(uint64_t key) const {
    const auto type = chunk_.constants().frame_types.find(key);
    return type == chunk_.constants().frame_types.end() ? std::string_view{}
                                                        : chunk_.Text(type->second);
  }

  const std::string& Symbol(uint64_t key) const {
    static const std::string kNone;
    const auto symbol = chunk_.constants().symbols.find(key);
    return symbol == chunk_.constants().symbols.end() ? kNone : chunk_.Text(symbol->second);
  }

  profile::Line LineOf(const JfrFrame& frame) {
    auto [function, is_new] = functions_.try_emplace(frame.method);
    if (is_new) function->second = FunctionOf(frame.method);
    return {function->second, frame.line > 0 ? frame.line : 0, 0};
  }

  profile::FunctionId FunctionOf(uint64_t key) {
    std::string name;
    std::string descriptor;
    const auto method = chunk_.constants().methods.find(key);
    if (method != chunk_.constants().methods.end()) {
      const auto type = chunk_.constants().class_names.find(method->second.type);
      if (type != chunk_.constants().class_names.end()) name = ClassName(Symbol(type->second));
      const std::string& method_name = Symbol(method->second.name);
      if (!name.empty() && !method_name.empty()) name += '.';
      name += method_name;
      descriptor = Symbol(method->second.descriptor);
    }
    if (name.empty()) name = "[unknown]";
    return profile_.InternFunction(
        {profile_.InternString(name), profile_.InternString(name + descriptor), {}, 0});
  }

  profile::MappingId KernelMapping() {
    for (uint32_t i = 0; i < profile_.mapping_count(); ++i) {
      const profile::MappingId id{i};
      if (profile_.String(profile_.mapping(id).path) == profile::kKernelPath) return id;
    }
    profile::Mapping mapping;
    mapping.path = profile_.InternString(profile::kKernelPath);
    mapping.has_functions = true;
    return profile_.AddMapping(mapping);
  }

  profile::LabelSetId LabelsOf(const EventValues& values) {
    std::vector<profile::Label> labels;
    const auto thread = chunk_.constants().threads.find(values.thread);
    if (thread != chunk_.constants().threads.end()) {
      const std::string& java_name = chunk_.Text(thread->second.java_name);
      const std::string& name = java_name.empty() ? chunk_.Text(thread->second.os_name) : java_name;
      if (!name.empty()) labels.push_back(profile_.TextLabel(profile::kLabelThread, name));
      if (thread->second.tid > 0)
        labels.push_back(profile_.NumberLabel(profile::kLabelTid, thread->second.tid));
    }
    const auto state = chunk_.constants().states.find(values.state);
    if (state != chunk_.constants().states.end() && !chunk_.Text(state->second).empty())
      labels.push_back(profile_.TextLabel("thread_state", chunk_.Text(state->second)));
    const auto trace = chunk_.constants().stack_traces.find(values.stack_trace);
    if (trace != chunk_.constants().stack_traces.end() && trace->second.is_truncated)
      labels.push_back(profile_.TextLabel("incomplete", "truncated"));
    return profile_.InternLabels(labels);
  }

  JfrChunk& chunk_;
  const JfrChunkHeader& header_;
  Profile& profile_;
  std::vector<Row>& rows_;
  bool counts_cpu_ = true;
  std::unordered_map<uint64_t, int64_t> period_ns_of_type_;  // by the id of an event's type
  std::unordered_map<uint64_t, StackId> stacks_;
  std::unordered_map<uint64_t, profile::FunctionId> functions_;
  std::vector<profile::Line> lines_;
};

// Sample types, period and samples of the profile.
void AddRows(const std::vector<Row>& rows, Profile& profile) {
  std::array<bool, kColumnCount> is_there = {};
  bool all_periods = true;
  bool same_period = true;
  int64_t period_ns = 0;
  for (const Row& row : rows) {
    is_there[row.column] = true;
    if (row.values[1] != 0) is_there[row.column + 1u] = true;
    if (row.column != kSamples) continue;
    all_periods = all_periods && row.values[1] != 0;
    same_period = same_period && (period_ns == 0 || period_ns == row.values[1]);
    period_ns = row.values[1];
  }
  is_there[kCpu] = is_there[kCpu] && all_periods;
  if (is_there[kAllocSpace]) is_there[kTlabSpace] = false;
  if (std::ranges::none_of(is_there, [](bool there) { return there; })) is_there[kSamples] = true;

  std::array<size_t, kColumnCount> place = {};
  std::vector<profile::ValueType> types;
  for (size_t i = 0; i < kColumnCount; ++i) {
    place[i] = types.size();
    if (is_there[i])
      types.push_back(profile.InternValueType(kColumnNames[i].type, kColumnNames[i].unit));
  }
  const size_t main = is_there[kCpu] ? place[kCpu] : 0;
  profile.header().default_sample_type = types[main].type;
  if (is_there[kCpu] && same_period) {
    profile.header().period_type = types[main];
    profile.header().period = period_ns;
  }
  std::vector<int64_t> values(types.size());
  profile.SetSampleTypes(std::move(types));
  for (const Row& row : rows) {
    if (!is_there[row.column]) continue;
    std::ranges::fill(values, 0);
    values[place[row.column]] = row.values[0];
    if (row.values[1] != 0 && is_there[row.column + 1u])
      values[place[row.column + 1u]] = row.values[1];
    profile.AddSample(row.stack, row.labels, values);
  }
}

}  // namespace

Result<Profile> DecodeJfr(std::string_view bytes) {
  Profile profile;
  std::vector<Row> rows;
  std::span<const std::byte> left = std::as_bytes(std::span(bytes));
  for (size_t number = 1; number == 1 || !left.empty(); ++number) {
    const std::string place = "Java Flight Recorder file, chunk " + std::to_string(number);
    const auto header = ReadJfrChunkHeader(left);
    if (!header.ok()) return header.error().Context(place);
    auto chunk = JfrChunk::Read(left.first(header->size_bytes), *header);
    if (!chunk.ok()) return chunk.error().Context(place);
    if (const auto done = ChunkDecoder(*chunk, *header, profile, rows).Run(); !done.ok())
      return done.error().Context(place);
    if (number == 1) profile.header().time_unix_ns = header->start_unix_ns;
    profile.header().duration_ns =
        profile::AddSaturating(profile.header().duration_ns, header->duration_ns);
    left = left.subspan(header->size_bytes);
  }
  AddRows(rows, profile);
  return profile;
}

}  // namespace vesta::wire
