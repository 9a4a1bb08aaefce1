// A tree of calls by function while it is still changed: merged, turned round, cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "src/flame/call_trie.h"
#include "src/flame/stack_tree.h"

namespace vesta::flame {

inline constexpr uint32_t kNoFunction = std::numeric_limits<uint32_t>::max();

// Shape: nodes as CallTrie numbers them; an item is a function, as a number of whoever fills it; a
//        column as StackTree::self.
class FunctionTrie {
 public:
  explicit FunctionTrie(size_t columns) : self_(columns, std::vector<int64_t>(1)) {}

  uint32_t Child(uint32_t parent, uint32_t function) { return nodes_.Child(parent, function); }
  void Add(uint32_t node, size_t column, int64_t value) {
    self_[column].resize(nodes_.size());
    self_[column][node] = profile::AddSaturating(self_[column][node], value);
  }
  size_t size() const { return nodes_.size(); }
  size_t columns() const { return self_.size(); }

  // Keeps the largest nodes by their totals in `weighed`, columns that are made equally large
  // first. What a node lost becomes a child called `rest_function`, so that self + children ==
  // total stays true for each node and column. Shape: at most nodes_max nodes remain, those
  // children included; nodes_max >= 2.
  void Cut(size_t nodes_max, std::span<const size_t> weighed, uint32_t rest_function);

  // Writes functions, strings, depth, function and self of the tree; functions that no node has are
  // left out. Returns the number in the tree of each function; kNoFunction = left out.
  // Shape: functions[0] is the root.
  std::vector<uint32_t> Write(std::vector<TreeFunction> functions, std::vector<std::string> strings,
                              StackTree& tree) const;

 private:
  std::vector<std::vector<int64_t>> Totals() const;

  CallTrie nodes_;
  std::vector<std::vector<int64_t>> self_;  // by column; may be shorter than the nodes
};

// The function that stands for what was cut, added to both lists if it is not there.
uint32_t AddRestFunction(std::vector<TreeFunction>& functions, std::vector<std::string>& strings);

}  // namespace vesta::flame
