#include "src/wire/firefox_encoder.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/wire/firefox_tables.h"

namespace vesta::wire {
namespace {

using profile::Label;
using profile::LabelSetId;
using profile::Profile;

constexpr int kVersion = 60;       // of the processed format
constexpr int kGeckoVersion = 32;  // of the raw format of that time
constexpr int64_t kMillisecondNs = 1'000'000;

// Values of a unit as weights.
struct WeightRule {
  std::string_view unit;
  std::string_view type;
  int decimals;     // to move the point by, to milliseconds
  int64_t unit_ns;  // 0 = no time
  int64_t factor = 1;
};
constexpr std::array<WeightRule, 5> kWeightRules = {
    {{"nanoseconds", "tracing-ms", 6, 1},
     {"microseconds", "tracing-ms", 3, 1000},
     {"milliseconds", "tracing-ms", 0, kMillisecondNs},
     {"seconds", "tracing-ms", 0, 1000 * kMillisecondNs, 1000},
     {"bytes", "bytes", 0, 0}}};
constexpr WeightRule kCountRule = {"", "samples", 0, 0};

int64_t MultiplySaturating(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : -INT64_MAX;
}

struct Thread {
  std::string process;
  std::string name;
  int64_t pid = 0;
  int64_t tid = 0;
  JsonColumn stacks;
  JsonColumn times;
  JsonColumn weights;
  int64_t time_ns = 0;  // behind the last sample
};

class Encoder {
 public:
  Encoder(const Profile& profile, const FirefoxEncodeOptions& options)
      : profile_(profile), options_(options), tables_(profile) {
    if (profile.sample_types().empty()) return;
    type_ = options.sample_type.value_or(profile.DefaultSampleTypeIndex());
    const std::string_view unit = profile.String(profile.sample_types()[type_].unit);
    const auto* known = std::ranges::find(kWeightRules, unit, &WeightRule::unit);
    rule_ = known == kWeightRules.end() ? kCountRule : *known;
  }

  std::string Run() {
    interval_ns_ = IntervalNs();
    if (!profile_.sample_types().empty()) {
      for (size_t i = 0; i < profile_.sample_count(); ++i) AddSample(i);
    }
    std::string out = "{\"meta\":";
    out += Meta();
    out += ",\n";
    tables_.Append(out);
    out += ",\n\"threads\":[";
    // Threads of one process side by side, the main one first.
    std::vector<size_t> order(threads_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) {
      const Thread& thread = threads_[i];
      return std::tuple(thread.pid, std::string_view(thread.process), thread.tid != thread.pid,
                        thread.tid);
    });
    const Thread* before = nullptr;
    for (const size_t i : order) {
      const Thread& thread = threads_[i];
      out += before == nullptr ? "\n" : ",\n";
      const bool is_first =
          before == nullptr || before->pid != thread.pid || before->process != thread.process;
      AppendThread(thread, is_first, out);
      before = &thread;
    }
    out += "]}\n";
    return out;
  }

 private:
  // From one sample to the next: the period if it is a time, else 1 ms.
  int64_t IntervalNs() const {
    const profile::Header& header = profile_.header();
    const std::string_view unit = profile_.String(header.period_type.unit);
    const auto* known = std::ranges::find(kWeightRules, unit, &WeightRule::unit);
    if (header.period <= 0 || known == kWeightRules.end() || known->unit_ns == 0)
      return kMillisecondNs;
    return MultiplySaturating(header.period, known->unit_ns);
  }

  Thread& ThreadOf(LabelSetId labels) {
    const auto [entry, is_new] = thread_of_labels_.try_emplace(labels.value(), 0);
    if (is_new) {
      Thread thread;
      for (const Label& label : profile_.labels(labels)) {
        const std::string_view key = profile_.String(label.key);
        if (key == profile::kLabelProcess && thread.process.empty())
          thread.process = profile_.String(label.text);
        if (key == profile::kLabelThread && thread.name.empty())
          thread.name = profile_.String(label.text);
        if (key == profile::kLabelPid && label.is_number()) thread.pid = label.number;
        if (key == profile::kLabelTid && label.is_number()) thread.tid = label.number;
      }
      const auto [same, is_new_thread] = thread_index_.try_emplace(
          std::tuple(thread.pid, thread.process, thread.tid, thread.name), threads_.size());
      if (is_new_thread) threads_.push_back(std::move(thread));
      entry->second = same->second;
    }
    return threads_[entry->second];
  }

  void AddSample(size_t sample) {
    const int64_t value = profile_.sample_values(sample)[type_];
    if (value == 0) return;
    Thread& thread = ThreadOf(profile_.sample_labels(sample));
    thread.stacks.Int(tables_.StackOf(profile_.sample_stack(sample)));
    thread.times.Decimal(thread.time_ns, 6);
    thread.weights.Decimal(MultiplySaturating(value, rule_.factor), rule_.decimals);
    int64_t lasts_ns = interval_ns_;
    const int64_t size = value < 0 ? MultiplySaturating(value, -1) : value;
    if (rule_.unit_ns > 0) {
      lasts_ns = MultiplySaturating(size, rule_.unit_ns);
    } else if (rule_.type == "samples") {
      lasts_ns = MultiplySaturating(size, interval_ns_);
    }
    thread.time_ns = profile::AddSaturating(thread.time_ns, lasts_ns);
  }

  std::string Meta() const {
    int64_t end_ns = profile_.header().duration_ns;
    for (const Thread& thread : threads_) end_ns = std::max(end_ns, thread.time_ns);
    const auto milliseconds = [](int64_t ns) { return static_cast<double>(ns) / kMillisecondNs; };
    base::JsonWriter json;
    json.BeginObject().Key("interval").Double(milliseconds(interval_ns_));
    json.Key("startTime").Double(milliseconds(profile_.header().time_unix_ns));
    json.Key("profilingStartTime").Int(0).Key("profilingEndTime").Double(milliseconds(end_ns));
    json.Key("processType").Int(0).Key("product").String(options_.product);
    json.Key("importedFrom").String("vesta").Key("stackwalk").Int(1).Key("debug").Bool(false);
    json.Key("version").Int(kGeckoVersion).Key("preprocessedProfileVersion").Int(kVersion);
    json.Key("symbolicated").Bool(true).Key("markerSchema").BeginArray().EndArray();
    json.Key("usesOnlyOneStackType").Bool(true).Key("sourceCodeIsNotOnSearchfox").Bool(true);
    json.Key("sampleUnits").BeginObject().Key("time").String("ms").Key("eventDelay").String("ms");
    json.Key("threadCPUDelta").String("ns").EndObject();
    std::string text = json.EndObject().Take();
    text.pop_back();
    return text + ",\"categories\":" + std::string(FirefoxTables::kCategories) + "}";
  }

  // The pid as the site knows processes by it: a process that changed its program is another one.
  std::string PidText(const Thread& thread) {
    auto& programs = programs_of_pid_[thread.pid];
    auto at = std::ranges::find(programs, thread.process);
    if (at == programs.end()) at = programs.insert(programs.end(), thread.process);
    const auto number = at - programs.begin();
    std::string text = std::to_string(thread.pid);
    if (number > 0) text += "." + std::to_string(number);
    return text;
  }

  void AppendThread(const Thread& thread, bool is_first, std::string& out) {
    base::JsonWriter json;
    json.BeginObject().Key("processType").String("default").Key("processStartupTime").Int(0);
    json.Key("processShutdownTime").Null().Key("registerTime").Int(0);
    json.Key("unregisterTime").Null().Key("pausedRanges").BeginArray().EndArray();
    std::string name = thread.name.empty() ? thread.process : thread.name;
    if (name.empty()) name = thread.tid == 0 ? "all" : std::to_string(thread.tid);
    json.Key("name").String(name).Key("isMainThread").Bool(is_first);
    if (!thread.process.empty()) json.Key("processName").String(thread.process);
    json.Key("pid").String(PidText(thread)).Key("tid").Int(thread.tid);
    json.Key("markers").BeginObject();
    for (const char* key : {"data", "name", "startTime", "endTime", "phase", "category"})
      json.Key(key).BeginArray().EndArray();
    json.Key("length").Int(0).EndObject();
    std::string text = json.EndObject().Take();
    text.pop_back();
    out += text + ",\n\"samples\":{\"weightType\":\"" + std::string(rule_.type) + "\",";
    AppendColumn("stack", thread.stacks, out);
    AppendColumn("time", thread.times, out);
    AppendColumn("weight", thread.weights, out);
    AppendLength(thread.stacks.size(), out);
    out += "}}";
  }

  const Profile& profile_;
  const FirefoxEncodeOptions& options_;
  FirefoxTables tables_;
  size_t type_ = 0;
  WeightRule rule_ = kCountRule;
  int64_t interval_ns_ = kMillisecondNs;
  std::vector<Thread> threads_;
  std::map<uint32_t, size_t> thread_of_labels_;  // by LabelSetId
  std::map<std::tuple<int64_t, std::string, int64_t, std::string>, size_t> thread_index_;
  std::map<int64_t, std::vector<std::string>> programs_of_pid_;
};

}  // namespace

std::string EncodeFirefox(const Profile& profile, const FirefoxEncodeOptions& options) {
  return Encoder(profile, options).Run();
}

}  // namespace vesta::wire
