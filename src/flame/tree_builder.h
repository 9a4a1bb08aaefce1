// Builds a tree of calls from paths of places and values at their ends, whatever they come from: a
// profile, a store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/flame/call_trie.h"
#include "src/flame/frame_table.h"
#include "src/flame/stack_tree.h"

namespace vesta::flame {

struct TreeFinish {
  size_t nodes_max = 0;  // >= 2: the tree is cut to so many nodes, as CutTree does; 0 = all
  bool lines = true;     // else the tree has no lines
};

// Shape: node 0 is the root; a place is one of frames(). Columns as StackTree::self.
// Cost:  a step is one probe of a table, whatever the names.
class TreeBuilder {
 public:
  // nodes_max: more are refused; less with more than 16 columns.
  TreeBuilder(size_t columns, size_t nodes_max);

  FrameTable& frames() { return frames_; }
  uint32_t Child(uint32_t parent, uint32_t place) {
    return is_by_function_ ? ChildByFunction(parent, place) : trie_.Child(parent, place);
  }
  // Adds the magnitude of the value, since a tree has no negative ones.
  void Add(uint32_t node, size_t column, int64_t value);

  size_t size() const { return trie_.size(); }
  bool is_too_large() const { return trie_.size() > nodes_max_; }
  base::Error TooLarge() const;

  // For a tree that is to be cut anyway and has more nodes than there is memory for. Leaves the
  // `nodes_max` largest nodes by a column; what each lost goes to a child kRestName. From then on a
  // node is a function, and the tree has no lines. Nodes get other numbers, and one that is gone
  // may come again, without what it had.
  void Prune(size_t nodes_max, size_t column);
  // The value of a path was added to this node, above its end, since it is small. Before Restart.
  void NoteCut(uint32_t node, int64_t value);
  // After Prune: takes all values away and makes no other nodes any more, so that each has its
  // whole value when the same paths are added again. What leads to no node goes to the rest of its
  // last one.
  void Restart(size_t nodes_max, size_t column);
  // Whether nothing can be below the node any more.
  bool IsRest(uint32_t node) const {
    return is_by_function_ && node != 0 && trie_.item(node) == rest_;
  }
  // What a path without a node had in the column of Prune, at most, of all that came before
  // Restart.
  int64_t missing_max() const { return missing_max_; }
  size_t most_nodes() const { return std::max(most_nodes_, trie_.size()); }

  // Paths of the binaries behind the values of these columns, each once.
  std::vector<std::string_view> ImagesOf(std::span<const size_t> columns) const;
  // Counts the values of these columns for the binaries that theirs stand for.
  void ReplaceImages(std::span<const size_t> columns, const ImageAliases& aliases);

  // Fills in all of a tree but its sides and value types, which must be there. Once.
  // Returns the number of nodes before the cut.
  // Errors: Exhausted beyond nodes_max.
  base::Result<size_t> Finish(const TreeFinish& options, StackTree& tree);

 private:
  int64_t ValueAt(uint32_t node, size_t column) const {
    const size_t index = node * columns_ + column;
    return index < values_.size() ? values_[index] : 0;
  }
  uint32_t ChildByFunction(uint32_t parent, uint32_t place);
  uint32_t PlaceOfFunction(uint32_t function);
  void SplitByFunction();
  // Which nodes lead to a value of these columns.
  std::vector<bool> NodesWithValues(std::span<const size_t> columns) const;
  void WriteLines(std::span<const uint32_t> rank, StackTree& tree) const;

  const size_t columns_;
  const size_t nodes_max_;
  FrameTable frames_;
  CallTrie trie_;
  std::vector<int64_t> values_;  // node by node; may be shorter than the nodes

  // Once it was pruned.
  bool is_by_function_ = false;
  bool is_fixed_ = false;
  uint32_t rest_ = 0;                     // place
  std::vector<uint32_t> function_place_;  // by function
  // By node: what a path through it may have lost at most; a node behind the end as its parent.
  std::vector<int64_t> lost_;
  std::vector<int64_t> cut_;  // by node, as NoteCut says; may be shorter than the nodes
  int64_t missing_max_ = 0;
  size_t most_nodes_ = 0;
};

}  // namespace vesta::flame
