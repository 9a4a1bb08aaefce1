// Stacks of formats that share their beginnings: a tree of frames, and what was observed at each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/profile/id_index.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Bounds what a small file can ask for: a tree of n frames may stand for n * n / 2 frames in
// stacks. 2^27 of them are 512 MB; profiles of a million nodes need some 2^25.
class StackBudget {
 public:
  explicit StackBudget(uint64_t frames_max = uint64_t{1} << 27) : left_(frames_max) {}
  // Errors: Exhausted when the stacks of one file have more frames than that.
  base::Result<void> Take(uint64_t frames) {
    if (frames > left_) {
      return base::Error(base::ErrorCode::kExhausted,
                         "the stacks are too deep: together they have more than 2^27 frames");
    }
    left_ -= frames;
    return {};
  }

 private:
  uint64_t left_;
};

// Shape: node 0 stands for the stack without frames; parents have smaller numbers than children.
// Cost:  16 bytes per node and its slot; no recursion.
class CallTree {
 public:
  static constexpr uint32_t kRoot = 0;

  // The child of `parent` that is this frame; made when it is new.
  uint32_t Child(uint32_t parent, profile::LocationId frame) {
    const auto fresh = static_cast<uint32_t>(nodes_.size());
    const uint32_t id =
        index_.FindOrInsert(profile::HashWord(parent, frame.value()), fresh, [&](uint32_t other) {
          return nodes_[other].parent == parent && nodes_[other].frame == frame;
        });
    if (id == fresh) nodes_.push_back({parent, frame, 0});
    return id;
  }
  uint32_t parent(uint32_t node) const { return nodes_[node].parent; }
  profile::LocationId frame(uint32_t node) const { return nodes_[node].frame; }
  void AddSelf(uint32_t node, int64_t value) {
    nodes_[node].self = profile::AddSaturating(nodes_[node].self, value);
  }

  // Adds a sample for each node whose self value is not 0, as the value of one sample type.
  base::Result<void> AddSamples(profile::Profile& profile, profile::LabelSetId labels, size_t type,
                                StackBudget& budget) const {
    RETURN_IF_ERROR(TakeDepths(budget));
    std::vector<int64_t> values(profile.sample_types().size());
    std::vector<profile::LocationId> leaf_first;
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].self == 0) continue;
      leaf_first.clear();
      for (uint32_t at = node; at != kRoot; at = nodes_[at].parent) {
        leaf_first.push_back(nodes_[at].frame);
      }
      values[type] = nodes_[node].self;
      profile.AddSample(profile.InternStack(leaf_first), labels, values);
    }
    return {};
  }

 private:
  struct Node {
    uint32_t parent;
    profile::LocationId frame;
    int64_t self;
  };

  // Before any of the stacks takes memory.
  base::Result<void> TakeDepths(StackBudget& budget) const {
    std::vector<uint32_t> depths(nodes_.size());
    for (uint32_t node = 1; node < nodes_.size(); ++node) {
      depths[node] = depths[nodes_[node].parent] + 1;
      if (nodes_[node].self != 0) RETURN_IF_ERROR(budget.Take(depths[node]));
    }
    return {};
  }

  std::vector<Node> nodes_ = {{kRoot, {}, 0}};
  profile::IdIndex index_;
};

}  // namespace vesta::wire
