#include "src/ingest/series_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "src/base/utf8.h"
#include "src/store/row_labels.h"

namespace vesta::ingest {
namespace {

using profile::Label;
using profile::StringId;

// The number of a process or thread, written as text or as number.
std::optional<uint32_t> TaskNumber(const profile::Profile& profile, const Label& label) {
  if (label.is_number()) {
    if (label.number < 0 || label.number > std::numeric_limits<uint32_t>::max()) return {};
    return static_cast<uint32_t>(label.number);
  }
  const std::string_view text = profile.String(label.text);
  uint32_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return {};
  return number;
}

}  // namespace

SeriesTable::SeriesTable(const profile::Profile& profile, const store::Labels& pusher)
    : profile_(profile), pusher_(pusher), slots_(profile.label_set_count()) {}

SeriesTable::KeyRole SeriesTable::RoleOf(StringId key) {
  const auto [known, is_new] = roles_.try_emplace(key, KeyRole::kSeries);
  if (!is_new) return known->second;
  const std::string_view name = profile_.String(key);
  if (name == profile::kLabelPid) known->second = KeyRole::kPid;
  if (name == profile::kLabelTid) known->second = KeyRole::kTid;
  if (name == profile::kLabelThread) known->second = KeyRole::kThread;
  if (name == store::kRowTime) known->second = KeyRole::kTime;
  if (name == store::kRowCount) known->second = KeyRole::kCount;
  if (name == store::kRowWeight) known->second = KeyRole::kWeight;
  const bool is_id = name == "span_id" || name == "trace_id" || name == "profile_id";
  if (is_id || name.empty()) known->second = KeyRole::kNever;
  return known->second;
}

bool SeriesTable::TakeOfRow(KeyRole role, const Label& label, Place* row) const {
  if (role == KeyRole::kWeight) {
    const std::string_view text = profile_.String(label.text);
    float weight = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), weight);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return false;
    if (!std::isfinite(weight) || weight <= 0) return false;
    row->weight = weight;
    return true;
  }
  if (!label.is_number() || (role == KeyRole::kCount && label.number < 0)) return false;
  auto& field = role == KeyRole::kTime ? row->time_unix_ms : row->count;
  if (!field) field = label.number;
  return true;
}

void SeriesTable::Take(const Label& label, TaskKey* task, Place* row) {
  const KeyRole role = RoleOf(label.key);
  const bool is_of_row =
      role == KeyRole::kTime || role == KeyRole::kCount || role == KeyRole::kWeight;
  if (is_of_row && TakeOfRow(role, label, row)) return;
  if (role == KeyRole::kPid || role == KeyRole::kTid) {
    const auto number = TaskNumber(profile_, label);
    uint32_t& field = role == KeyRole::kPid ? task->pid : task->tid;
    if (field == 0) field = number.value_or(0);
    if (number) return;
  } else if (role == KeyRole::kThread && !label.is_number()) {
    if (task->thread == StringId{}) task->thread = label.text;
    return;
  } else if (role == KeyRole::kSeries && !label.is_number()) {
    words_.push_back(label.key.value());
    words_.push_back(label.text.value());
    return;
  }
  if (std::ranges::find(dropped_, label.key) == dropped_.end()) dropped_.push_back(label.key);
}

void SeriesTable::Resolve(profile::LabelSetId labels, Slot* slot) {
  TaskKey task;
  words_.clear();
  dropped_.clear();
  for (const Label& label : profile_.labels(labels)) Take(label, &task, &slot->place);
  slot->place.series = SeriesOfWords();
  slot->place.task = TaskOf(task);
  slot->dropped_list = static_cast<uint32_t>(dropped_lists_.size());
  dropped_lists_.Append(dropped_);
}

uint32_t SeriesTable::SeriesOfWords() {
  uint64_t hash = words_.size();
  for (const uint32_t word : words_) hash = profile::HashWord(hash, word);
  const auto fresh = static_cast<uint32_t>(word_lists_.size());
  const uint32_t id = word_index_.FindOrInsert(hash, fresh, [this](uint32_t other) {
    return std::ranges::equal(word_lists_[other], words_);
  });
  if (id == fresh) {
    word_lists_.Append(words_);
    word_series_.push_back(MakeSeries());
  }
  return word_series_[id];
}

uint32_t SeriesTable::MakeSeries() {
  std::map<std::string, std::string> labels;
  for (const store::Label& label : pusher_) labels.emplace(label.name, label.value);
  for (size_t i = 0; i < words_.size(); i += 2) {
    labels.emplace(base::ToUtf8(profile_.String(StringId{words_[i]})),
                   base::ToUtf8(profile_.String(StringId{words_[i + 1]})));
  }
  store::Labels sorted;
  for (const auto& [name, value] : labels) sorted.push_back({name, value});
  const auto [at, is_new] = series_ids_.emplace(sorted, static_cast<uint32_t>(series_.size()));
  if (is_new) series_.push_back(std::move(sorted));
  return at->second;
}

uint32_t SeriesTable::TaskOf(const TaskKey& key) {
  const uint64_t hash = profile::HashWord(profile::HashWord(key.pid, key.tid), key.thread.value());
  const auto fresh = static_cast<uint32_t>(tasks_.size());
  const uint32_t id = task_index_.FindOrInsert(
      hash, fresh, [&](uint32_t other) { return task_keys_[other] == key; });
  if (id == fresh) {
    task_keys_.push_back(key);
    tasks_.push_back({key.pid, key.tid, base::ToUtf8(profile_.String(key.thread))});
  }
  return id;
}

std::map<std::string, uint64_t> SeriesTable::Dropped() const {
  std::map<StringId, uint64_t> samples_of;
  for (const Slot& slot : slots_) {
    if (slot.samples == 0) continue;
    for (const StringId key : dropped_lists_[slot.dropped_list]) samples_of[key] += slot.samples;
  }
  std::map<std::string, uint64_t> dropped;
  for (const auto& [key, samples] : samples_of) {
    dropped[base::ToUtf8(profile_.String(key))] += samples;
  }
  return dropped;
}

}  // namespace vesta::ingest
