// Keeps every distinct call stack once, as a tree: stacks that share their callers share the nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/strong_id.h"
#include "src/profile/frame.h"

namespace vesta::agent::aggregate {

// A stack is the node of its leaf; kRoot is the stack without frames.
using NodeId = base::StrongId<struct NodeIdTag>;

// Shape: frames come in leaf first, as everywhere; nodes point from leaf to caller.
// Owner: aggregator thread.
// Cost:  one hash look-up per frame; 28 bytes per distinct node, none per repeated stack.
class StackTrie {
 public:
  static constexpr NodeId kRoot{0};

  StackTrie();

  // The stack's node; kRoot when it is new and would need more memory than allowed.
  NodeId Intern(std::span<const profile::Frame> leaf_first, size_t memory_bytes_max);

  NodeId parent(NodeId node) const { return parents_[node.value()]; }
  const profile::Frame& frame(NodeId node) const { return frames_[node.value()]; }
  size_t node_count() const { return frames_.size(); }
  size_t memory_bytes() const;
  void Clear();

 private:
  void Grow();
  static uint64_t Hash(NodeId parent, const profile::Frame& frame);

  std::vector<profile::Frame> frames_;  // [0] is the root
  std::vector<NodeId> parents_;
  std::vector<uint32_t> slots_;  // open addressing; 0 = empty (the root is never looked up)
};

}  // namespace vesta::agent::aggregate
