// The order in which nodes are written when a volume is closed. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace vesta::store::index {

class Dictionary;

// All nodes in the order of a walk: each one, then all that it calls, those first that were seen
// first. So what one service calls stands together, wherever it was seen: a question reads fewer
// pages, and numbers that follow each other differ by little.
// Shape: node[i] is the old number of the new number i, number[] the other way round; 0 stays 0 and
//        parents stay below their children.
struct NodeOrder {
  std::vector<uint32_t> number;
  std::vector<uint32_t> node;
};
// Cost: about 10 ns a node, and 12 bytes.
NodeOrder WalkOrder(const Dictionary& dictionary);

}  // namespace vesta::store::index
