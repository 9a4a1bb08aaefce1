#include "src/flame/sandwich.h"

#include <utility>

#include "src/flame/function_trie.h"

namespace vesta::flame {
namespace {

// The tree with the nodes of `trie`, whose items are its functions.
StackTree WithNodes(const StackTree& tree, const FunctionTrie& trie) {
  StackTree made;
  made.sides = tree.sides;
  made.value_types = tree.value_types;
  made.value_type = tree.value_type;
  const std::vector<uint32_t> rank = trie.Write(tree.functions, tree.strings, made);
  made.line_self.resize(tree.line_self.size());
  made.line_total.resize(tree.line_total.size());
  for (size_t i = 0; i < tree.lines.size(); ++i) {
    const uint32_t function = rank[tree.lines[i].function];
    if (function == kNoFunction) continue;
    made.lines.push_back({function, tree.lines[i].line});
    for (size_t column = 0; column < made.line_self.size(); ++column) {
      made.line_self[column].push_back(tree.line_self[column][i]);
      made.line_total[column].push_back(tree.line_total[column][i]);
    }
  }
  return made;
}

}  // namespace

StackTree CallersOf(const StackTree& tree, const std::vector<bool>& wanted) {
  FunctionTrie trie(tree.self.size());
  std::vector<uint32_t> open;  // functions on the path by depth, the root first
  size_t topmost_depth = 0;    // 0 = on the path is no wanted function
  uint32_t at = 0;
  for (size_t node = 0; node < tree.node_count(); ++node) {
    const uint32_t depth = tree.depth[node];
    const uint32_t function = tree.function[node];
    open.resize(depth);
    if (topmost_depth != 0 && depth <= topmost_depth) topmost_depth = 0;
    open.push_back(function);
    if (topmost_depth == 0 && wanted[function]) {
      topmost_depth = depth;
      at = 0;
      for (size_t level = depth; level > 0; --level) at = trie.Child(at, open[level]);
    }
    if (topmost_depth == 0) continue;
    for (size_t column = 0; column < tree.self.size(); ++column)
      trie.Add(at, column, tree.self[column][node]);
  }
  return WithNodes(tree, trie);
}

StackTree CalleesOf(const StackTree& tree, const std::vector<bool>& wanted) {
  FunctionTrie trie(tree.self.size());
  std::vector<uint32_t> path;  // nodes of the trie from the topmost wanted function on
  size_t topmost_depth = 0;    // 0 = on the path is no wanted function
  for (size_t node = 0; node < tree.node_count(); ++node) {
    const uint32_t depth = tree.depth[node];
    const uint32_t function = tree.function[node];
    if (topmost_depth != 0 && depth <= topmost_depth) topmost_depth = 0;
    if (topmost_depth == 0 && wanted[function]) {
      topmost_depth = depth;
      path.clear();
    }
    if (topmost_depth == 0) continue;
    path.resize(depth - topmost_depth);
    path.push_back(trie.Child(path.empty() ? 0 : path.back(), function));
    for (size_t column = 0; column < tree.self.size(); ++column)
      trie.Add(path.back(), column, tree.self[column][node]);
  }
  return WithNodes(tree, trie);
}

}  // namespace vesta::flame
