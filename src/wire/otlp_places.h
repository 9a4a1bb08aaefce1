// Attributes of resources and samples -> series and tasks of a batch, each list looked at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/batch/batch.h"
#include "src/profile/id_index.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_dictionary.h"

namespace vesta::wire::otlp {

// Counts by reason, with the first as example.
class Counts {
 public:
  void Add(std::string_view reason, uint64_t count, const std::string& example);
  // Makes the example only where it is the first.
  template <typename Example>
  void AddWith(std::string_view reason, uint64_t count, const Example& example) {
    auto at = index_.find(reason);
    if (at == index_.end()) {
      const std::string_view word = counts_.size() < kReasonsMax ? reason : kOtherReasons;
      const auto [added, is_new] = index_.try_emplace(std::string(word), counts_.size());
      if (is_new) counts_.push_back({added->first, 0, example()});
      at = added;
    }
    counts_[at->second].count += count;
  }
  std::vector<OtlpCount> Take() { return std::move(counts_); }

 private:
  // Reasons may be words of the sender.
  static constexpr size_t kReasonsMax = 64;
  static constexpr std::string_view kOtherReasons = "others";

  std::map<std::string, size_t, std::less<>> index_;
  std::vector<OtlpCount> counts_;
};

// Shape: the rules of DecodeOtlp. Labels are within the limits of src/batch/limits.h; what is
// beyond
//        them goes nowhere and is counted.
// Owner: one batch.
// Cost:  at most label_bytes_max of labels of a message are copied and kept, whatever the request
// refers to how
//        often; what is beyond goes nowhere.
class Places {
 public:
  struct Place {
    uint32_t series = 0;
    uint32_t task = 0;
    float weight = 1;
    int64_t count = 1;
    bool is_good = true;                    // each index is of an attribute
    std::vector<std::string_view> dropped;  // keys that go nowhere
    uint64_t samples = 0;
  };

  // Begins a message; its bytes and the dictionary live as long as this.
  void BeginMessage(const Dictionary& dictionary, uint64_t label_bytes_max);
  // What samples below it are of. `attributes` lives until the next one begins.
  void BeginResource(std::span<const Attribute> attributes);
  // Attributes of a resource of ours are labels as they are.
  void BeginScope(bool is_ours);
  // The place of a sample with these attributes; it lives until the next call.
  Place& Of(std::span<const uint64_t> attribute_indices);

  std::vector<batch::Labels> TakeSeries() { return std::move(series_); }
  std::vector<batch::Task> TakeTasks();
  // After all samples were counted.
  std::vector<OtlpCount> TakeDropped();

 private:
  using LabelMap = std::map<std::string, std::string, std::less<>>;

  bool Pay(uint64_t bytes);
  void FillBase();
  void TakeResourceAttribute(const Attribute& attribute);
  void AddDerivedLabels();
  // These are false for what goes nowhere.
  static bool TakeOfTask(const Attribute& attribute, batch::Task* task);
  bool AddLabel(std::string_view name, std::string_view value, LabelMap* labels);
  bool TakeSampleAttribute(const Attribute& attribute, Place* place, batch::Task* task,
                           std::optional<LabelMap>* labels);
  uint32_t SeriesOf(const LabelMap& labels);
  uint32_t BaseSeries();
  uint32_t TaskOf(batch::Task task);

  const Dictionary* dictionary_ = nullptr;  // of the message at hand
  uint64_t label_bytes_left_ = 0;

  // Of the resource and scope at hand.
  std::span<const Attribute> resource_;
  uint64_t base_ = 0;  // which one, counted
  bool is_ours_ = false;
  bool is_base_filled_ = false;
  LabelMap base_labels_;
  uint64_t base_bytes_ = 0;
  batch::Task base_task_;
  std::optional<uint32_t> base_series_;

  std::vector<uint64_t> key_;  // base_, then indices
  profile::FlatLists<uint64_t> keys_;
  profile::IdIndex key_index_;
  std::vector<Place> places_;

  std::vector<batch::Labels> series_;
  std::map<batch::Labels, uint32_t> series_ids_;
  std::map<batch::Task, uint32_t> task_ids_;
  Counts dropped_;
};

}  // namespace vesta::wire::otlp
