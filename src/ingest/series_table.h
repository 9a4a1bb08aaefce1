// Labels of samples -> series and tasks of a batch, each set of labels looked at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/profile/id_index.h"
#include "src/profile/profile.h"
#include "src/store/batch.h"

namespace vesta::ingest {

// Shape: the rules of MakeBatch (profile_batch.h).
// Owner: one batch; the profile must outlive it and stay as it is.
// Cost:  a set of labels is sorted out by ids; strings are made only for series and tasks that are
//        new, so that a label that every sample has its own value of (span_id) costs little.
class SeriesTable {
 public:
  struct Place {
    uint32_t series = 0;
    uint32_t task = 0;
    // What labels of src/store/row_labels.h say of the row itself.
    std::optional<int64_t> time_unix_ms = std::nullopt;
    std::optional<int64_t> count = std::nullopt;
    float weight = 1;
  };

  SeriesTable(const profile::Profile& profile, const store::Labels& pusher);

  // Counts a sample with these labels.
  const Place& Add(profile::LabelSetId labels) {
    Slot& slot = slots_[labels.value()];
    if (slot.samples++ == 0) Resolve(labels, &slot);
    return slot.place;
  }

  std::vector<store::Labels> TakeSeries() { return std::move(series_); }
  std::vector<store::Task> TakeTasks() { return std::move(tasks_); }
  // Labels that went nowhere -> samples that have them.
  std::map<std::string, uint64_t> Dropped() const;

 private:
  enum class KeyRole : uint8_t { kSeries, kPid, kTid, kThread, kTime, kCount, kWeight, kNever };
  struct Slot {
    Place place;
    uint32_t dropped_list = 0;
    uint64_t samples = 0;
  };
  struct TaskKey {
    uint32_t pid = 0;
    uint32_t tid = 0;
    profile::StringId thread;
    friend bool operator==(const TaskKey&, const TaskKey&) = default;
  };

  KeyRole RoleOf(profile::StringId key);
  // To the task, the row, words_ or dropped_.
  void Take(const profile::Label& label, TaskKey* task, Place* row);
  // False for what is no number of that kind.
  bool TakeOfRow(KeyRole role, const profile::Label& label, Place* row) const;
  void Resolve(profile::LabelSetId labels, Slot* slot);
  uint32_t SeriesOfWords();
  uint32_t MakeSeries();
  uint32_t TaskOf(const TaskKey& key);

  const profile::Profile& profile_;
  const store::Labels& pusher_;
  std::vector<Slot> slots_;  // by LabelSetId
  std::unordered_map<profile::StringId, KeyRole> roles_;

  std::vector<uint32_t> words_;  // of the set at hand: key and text of each label for the series
  std::vector<profile::StringId> dropped_;  // keys of the set at hand that go nowhere, each once
  profile::FlatLists<profile::StringId> dropped_lists_;
  profile::FlatLists<uint32_t> word_lists_;
  std::vector<uint32_t> word_series_;
  profile::IdIndex word_index_;

  std::vector<store::Labels> series_;
  std::map<store::Labels, uint32_t> series_ids_;  // the same labels in another order are the same
  std::vector<TaskKey> task_keys_;
  profile::IdIndex task_index_;
  std::vector<store::Task> tasks_;
};

}  // namespace vesta::ingest
