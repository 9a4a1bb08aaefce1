#include "src/wire/otlp_places.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "src/base/printable.h"
#include "src/base/utf8.h"
#include "src/batch/limits.h"
#include "src/wire/otlp_fields.h"

namespace vesta::wire::otlp {
namespace {

constexpr size_t kShortContainerId = 12;  // as our agent calls containers without a service
constexpr std::string_view kContextLabel = "process.context.label.";
constexpr std::string_view kServiceName = "service.name";

// Of a process or a moment: as labels they would make a series of each.
constexpr std::string_view kNoLabels[] = {
    "process.args_count",
    "process.command",
    "process.command_args",
    "process.command_line",
    "process.creation.time",
    "process.group_leader.pid",
    "process.parent_pid",
    "process.session_leader.pid",
    "process.vpid",
    "profile_id",
    "span_id",
    "trace_id",
};

bool IsNoLabel(std::string_view key) {
  return std::ranges::find(kNoLabels, key) != std::end(kNoLabels);
}

// Our agent's words for what others call so.
std::string_view OurName(std::string_view key) {
  if (key == "process.executable.path") return "exe";
  if (key == "process.executable.name") return profile::kLabelProcess;
  if (key.starts_with(kContextLabel) && key.size() > kContextLabel.size())
    return key.substr(kContextLabel.size());
  return key;
}

std::optional<uint32_t> TaskNumber(const Value& value) {
  if (value.kind == Value::Kind::kInt) {
    if (value.number < 0 || value.number > std::numeric_limits<uint32_t>::max()) return {};
    return static_cast<uint32_t>(value.number);
  }
  uint32_t number = 0;
  const char* const end = value.bytes.data() + value.bytes.size();
  if (value.kind != Value::Kind::kText || value.bytes.empty()) return {};
  const auto parsed = std::from_chars(value.bytes.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  return number;
}

// A key, for messages.
std::string Shown(std::string_view key) { return base::Printable(key.substr(0, 64)); }

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void Counts::Add(std::string_view reason, uint64_t count, const std::string& example) {
  AddWith(reason, count, [&example] { return example; });
}

bool Places::Pay(uint64_t bytes) {
  const bool is_enough = bytes <= label_bytes_left_;
  label_bytes_left_ -= std::min(bytes, label_bytes_left_);
  return is_enough;
}

bool Places::AddLabel(std::string_view name, std::string_view value, LabelMap* labels) {
  if (name.empty() || value.empty()) return true;  // the same as no label
  if (name.size() > batch::kLabelNameBytesMax || value.size() > batch::kLabelValueBytesMax)
    return false;
  if (labels->size() >= batch::kLabelsMax && !labels->contains(name)) return false;
  return Pay(sizeof(batch::Label) + name.size() + value.size()) &&
         labels->emplace(name, value).second;
}

bool Places::TakeOfTask(const Attribute& attribute, batch::Task* task) {
  if (attribute.key == kThreadName) {
    if (attribute.value.kind != Value::Kind::kText) return false;
    std::string name = base::ToUtf8(attribute.value.bytes);
    if (name.size() > batch::kThreadNameBytesMax) return false;
    task->thread = std::move(name);
    return true;
  }
  const auto number = TaskNumber(attribute.value);
  if (!number) return false;
  (attribute.key == kProcessPid ? task->pid : task->tid) = *number;
  return true;
}

void Places::TakeResourceAttribute(const Attribute& attribute) {
  const auto drop = [&](const char* why) {
    dropped_.AddWith(base::ToUtf8(attribute.key), 1, [&] {
      return "the attribute " + Shown(attribute.key) + " of a resource " + why;
    });
  };
  const std::string_view key = attribute.key;
  if (key.empty()) return;
  if (key == kProcessPid || key == kThreadId || key == kThreadName) {
    if (!TakeOfTask(attribute, &base_task_)) drop("is no number of a process or thread, or name");
    return;
  }
  const auto text = TextOf(attribute.value);
  if (!text) return drop("is a list, bytes, or text that is not there");
  if (IsNoLabel(key)) return drop("differs from process to process");
  if (!AddLabel(base::ToUtf8(OurName(key)), *text, &base_labels_))
    drop("is too long, too many, or there twice");
}

// As our agent names a service that does not name itself.
void Places::AddDerivedLabels() {
  if (base_labels_.contains(kServiceName)) return;
  const auto value_of = [this](std::string_view name) {
    const auto at = base_labels_.find(name);
    return at == base_labels_.end() ? std::string() : at->second;
  };
  std::string service = value_of("container.id").substr(0, kShortContainerId);
  const bool is_container = !service.empty();
  if (!is_container) service = BaseName(value_of("exe"));
  if (service.empty()) service = value_of(profile::kLabelProcess);
  if (service.empty()) return;
  AddLabel(kServiceName, service, &base_labels_);
  AddLabel("service.rule", is_container ? "container" : "program", &base_labels_);
}

void Places::BeginMessage(const Dictionary& dictionary, uint64_t label_bytes_max) {
  dictionary_ = &dictionary;
  label_bytes_left_ = label_bytes_max;
}

void Places::BeginResource(std::span<const Attribute> attributes) {
  resource_ = attributes;
  is_base_filled_ = false;
}

void Places::BeginScope(bool is_ours) {
  if (is_ours != is_ours_) is_base_filled_ = false;
  is_ours_ = is_ours;
}

void Places::FillBase() {
  if (is_base_filled_) return;
  is_base_filled_ = true;
  ++base_;
  base_labels_.clear();
  base_task_ = {};
  base_series_.reset();
  for (const Attribute& attribute : resource_) {
    if (!is_ours_) {
      TakeResourceAttribute(attribute);
    } else if (attribute.value.kind == Value::Kind::kText) {
      AddLabel(base::ToUtf8(attribute.key), base::ToUtf8(attribute.value.bytes), &base_labels_);
    }
  }
  if (!is_ours_) AddDerivedLabels();
  base_bytes_ = 0;
  for (const auto& [name, value] : base_labels_)
    base_bytes_ += sizeof(batch::Label) + name.size() + value.size();
}

bool Places::TakeSampleAttribute(const Attribute& attribute, Place* place, batch::Task* task,
                                 std::optional<LabelMap>* labels) {
  const std::string_view key = attribute.key;
  const Value& value = attribute.value;
  if (key == kProcessPid || key == kThreadId || key == kThreadName)
    return TakeOfTask(attribute, task);
  if (key == kWeight) {
    const auto weight = static_cast<float>(value.real);
    if (value.kind != Value::Kind::kDouble || !(weight > 0) || !std::isfinite(weight)) return false;
    place->weight = weight;
    return true;
  }
  if (key == kCount) {
    if (value.kind != Value::Kind::kInt || value.number < 0) return false;
    place->count = value.number;
    return true;
  }
  if (value.kind != Value::Kind::kText || IsNoLabel(key)) return false;
  if (!*labels) {
    if (!Pay(base_bytes_)) return false;
    *labels = base_labels_;
  }
  return AddLabel(base::ToUtf8(OurName(key)), base::ToUtf8(value.bytes), &**labels);
}

Places::Place& Places::Of(std::span<const uint64_t> attribute_indices) {
  FillBase();
  key_.assign(1, base_);
  key_.insert(key_.end(), attribute_indices.begin(), attribute_indices.end());
  uint64_t hash = key_.size();
  for (const uint64_t word : key_) hash = profile::HashWord(hash, word);
  const uint32_t known = key_index_.FindOrInsert(
      hash, static_cast<uint32_t>(places_.size()),
      [this](uint32_t other) { return std::ranges::equal(keys_[other], key_); });
  if (known < places_.size()) return places_[known];
  keys_.Append(key_);
  Place& place = places_.emplace_back();
  batch::Task task = base_task_;
  std::optional<LabelMap> labels;
  std::set<std::string_view> seen;
  for (const uint64_t index : attribute_indices) {
    const Attribute* attribute = dictionary_->FindAttribute(index);
    if (attribute == nullptr) {
      place.is_good = false;
      return place;
    }
    if (attribute->key.empty()) continue;
    const bool is_taken = seen.insert(attribute->key).second &&
                          TakeSampleAttribute(*attribute, &place, &task, &labels);
    if (!is_taken) place.dropped.push_back(attribute->key);
  }
  place.task = TaskOf(std::move(task));
  place.series = labels ? SeriesOf(*labels) : BaseSeries();
  return place;
}

uint32_t Places::BaseSeries() {
  if (!base_series_) base_series_ = SeriesOf(base_labels_);
  return *base_series_;
}

uint32_t Places::SeriesOf(const LabelMap& labels) {
  batch::Labels sorted;
  for (const auto& [name, value] : labels) sorted.push_back({name, value});
  const auto [at, is_new] = series_ids_.try_emplace(sorted, static_cast<uint32_t>(series_.size()));
  if (is_new) series_.push_back(std::move(sorted));
  return at->second;
}

uint32_t Places::TaskOf(batch::Task task) {
  return task_ids_.try_emplace(std::move(task), static_cast<uint32_t>(task_ids_.size()))
      .first->second;
}

std::vector<batch::Task> Places::TakeTasks() {
  std::vector<batch::Task> tasks(task_ids_.size());
  for (const auto& [task, id] : task_ids_) tasks[id] = task;
  return tasks;
}

std::vector<OtlpCount> Places::TakeDropped() {
  for (const Place& place : places_) {
    if (place.samples == 0) continue;
    for (const std::string_view key : place.dropped) {
      dropped_.AddWith(base::ToUtf8(key), place.samples, [&] {
        return "the attribute " + Shown(key) + " of a sample has no place in a store";
      });
    }
  }
  return dropped_.Take();
}

}  // namespace vesta::wire::otlp
