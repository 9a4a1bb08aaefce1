// Children of the nodes of a trie as lists, and the walk over all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "src/flame/call_trie.h"

namespace vesta::flame {

class TrieLinks {
 public:
  explicit TrieLinks(size_t nodes) : first_(nodes, kNone), next_(nodes, kNone) {}

  void PushFront(uint32_t parent, uint32_t node) {
    next_[node] = first_[parent];
    first_[parent] = node;
  }

  // In preorder: enter(node, depth) going down, leave(node) coming back; the root included.
  template <typename Enter, typename Leave>
  void Walk(const CallTrie& trie, const Enter& enter, const Leave& leave) const {
    uint32_t node = 0;
    uint32_t depth = 0;
    enter(node, depth);
    while (true) {
      if (first_[node] != kNone) {
        node = first_[node];
        enter(node, ++depth);
        continue;
      }
      while (node != 0 && next_[node] == kNone) {
        leave(node);
        node = trie.parent(node);
        --depth;
      }
      if (node == 0) break;
      leave(node);
      node = next_[node];
      enter(node, depth);
    }
    leave(0);
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> first_;
  std::vector<uint32_t> next_;
};

}  // namespace vesta::flame
