// The tree of nodes of a V8 CPU profile and what was sampled at each, on its way to a Profile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/wire/call_tree.h"

namespace vesta::wire {

// What V8 says of a function.
struct V8Frame {
  profile::StringId name;
  profile::StringId url;
  int64_t line = 0;    // where it begins, from 1; 0 = unknown
  int64_t column = 0;  // the same
};

// Functions of V8 as locations of a Profile. A function without a name is called "(anonymous)" with
// the place where it begins; its script is its mapping, so that scripts' functions stay apart.
class V8Places {
 public:
  explicit V8Places(profile::Profile& profile) : profile_(profile) {}
  // `line` is where in the function it was; 0 = unknown.
  profile::LocationId LocationOf(const V8Frame& frame, int64_t line);

 private:
  profile::MappingId ScriptOf(profile::StringId url);

  profile::Profile& profile_;
  std::unordered_map<uint32_t, profile::MappingId> scripts_;  // by url
};

// Shape:  AddNode for each node, then AddParent or AddChild, then Link, then samples, then
//         AddToProfile. Samples in any order of time.
// Cost:   about 80 bytes per node, 16 per sample.
// Errors: Corrupt with the number of the node: double ids, ids that no node has, two parents, a
// node
//         that is its own ancestor.
class V8Profile {
 public:
  static constexpr uint32_t kNoNode = UINT32_MAX;

  // Returns the number of the node, from 0.
  uint32_t AddNode(const V8Frame& frame);
  base::Result<void> SetId(uint32_t node, uint64_t id);
  void SetHits(uint32_t node, int64_t hits) { nodes_[node].hits = hits; }
  void AddTicks(uint32_t node, int64_t line, int64_t ticks) {
    ticks_.push_back({node, line, ticks});
  }
  void SetFrame(uint32_t node, const V8Frame& frame) { nodes_[node].frame = frame; }
  void SetParent(uint32_t node, uint32_t parent) { nodes_[node].parent = parent; }
  void AddChildId(uint32_t node, uint64_t id) { child_ids_.push_back({node, id}); }
  void AddParentId(uint32_t node, uint64_t id) { parent_ids_.push_back({node, id}); }
  size_t node_count() const { return nodes_.size(); }

  // Finds the nodes that ids name; further nodes may follow, and another Link.
  base::Result<void> Link();
  // The node with this id; kNoNode when there is none.
  uint32_t Find(uint64_t id) const;

  void AddSample(uint32_t node, int64_t time_ns) {
    sorted_ = sorted_ && (samples_.empty() || samples_.back().time_ns <= time_ns);
    samples_.push_back({time_ns, node});
  }
  void AddUntimedSample(uint32_t node) { ++nodes_[node].samples; }
  bool has_samples() const { return has_samples_ || !samples_.empty(); }
  void SetHasSamples() { has_samples_ = true; }

  // A sample lasts until the next one; the last until `end_ns`, or the average when that is not
  // behind it. Without any samples the hits of the nodes count.
  // Shape: the profile's sample types are samples/count and, when `with_time`, wall/nanoseconds.
  base::Result<void> AddToProfile(profile::Profile& profile, V8Places& places,
                                  profile::LabelSetId labels, bool with_time, int64_t end_ns,
                                  StackBudget& budget);

 private:
  class Shares;
  struct Node {
    V8Frame frame;
    uint32_t parent = kNoNode;
    int64_t hits = 0;
    int64_t samples = 0;
    int64_t time_ns = 0;
  };
  struct IdHash {  // ids are chosen by whoever wrote the file
    size_t operator()(uint64_t id) const { return profile::HashWord(kSeed, id); }
    static constexpr uint64_t kSeed = 0x7638;
  };
  struct Ticks {
    uint32_t node;
    int64_t line;
    int64_t ticks;
  };
  struct Sample {
    int64_t time_ns;
    uint32_t node;
  };

  // Of each node, itself included. Errors: Corrupt for a node that is its own ancestor.
  base::Result<std::vector<uint32_t>> Depths() const;
  void AddUpSamples(int64_t end_ns);
  base::Result<void> TakeDepths(StackBudget& budget) const;
  int64_t CountOf(const Node& node) const { return has_samples() ? node.samples : node.hits; }
  bool IsSampled(const Node& node) const { return CountOf(node) != 0 || node.time_ns != 0; }

  std::vector<Node> nodes_;
  std::vector<uint32_t> small_ids_;  // node of each id below its size; kNoNode = none
  std::unordered_map<uint64_t, uint32_t, IdHash> large_ids_;
  std::vector<std::pair<uint32_t, uint64_t>> child_ids_;   // not linked yet
  std::vector<std::pair<uint32_t, uint64_t>> parent_ids_;  // the same
  std::vector<Ticks> ticks_;
  std::vector<Sample> samples_;
  bool sorted_ = true;
  bool has_samples_ = false;
};

}  // namespace vesta::wire
