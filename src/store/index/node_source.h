// Where a trie of stacks can be read from: an open dictionary or the index file of a closed volume.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/result.h"

namespace vesta::store::index {

struct TrieNode {
  uint32_t parent;  // < this node; node 0 has 0
  uint32_t frame;   // node 0 has 0, which means nothing there
};

inline constexpr uint32_t kNodePageRows = 4096;

// Nodes [page * kNodePageRows, ...), the last page with fewer.
struct NodePage {
  std::span<const TrieNode> nodes;
  std::shared_ptr<const void> owner;  // nothing = lives as long as the source
};

class NodeSource {
 public:
  virtual ~NodeSource() = default;
  virtual uint32_t node_count() const = 0;
  virtual base::Result<NodePage> node_page(uint32_t page) const = 0;
  virtual uint32_t callable_count() const = 0;
  // The callables of a frame, innermost first, at least one; live until the next call.
  virtual base::Result<std::span<const uint32_t>> frame_callables(uint32_t frame) const = 0;
};

// A part of a trie under numbers of its own, which a StackBlock can show.
// Shape: local numbers ascend with the nodes; local 0 is node 0.
struct SubTrie {
  std::vector<uint32_t> node;    // of the source
  std::vector<uint32_t> parent;  // local
  std::vector<uint32_t> frame;
};

// The nodes asked for, in any order and as often as one likes, with all that call them.
// Returns their local numbers in `local`, which is as long as `nodes`.
// Cost: one look at each page with a needed node, and about 15 ns a node.
// Errors: Corrupt for nodes that do not exist or pages that are damaged.
base::Result<SubTrie> CutSubTrie(const NodeSource& source, std::span<const uint32_t> nodes,
                                 std::span<uint32_t> local);

}  // namespace vesta::store::index
