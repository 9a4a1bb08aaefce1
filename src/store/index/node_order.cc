#include "src/store/index/node_order.h"

#include "src/store/index/dictionary.h"

namespace vesta::store::index {

NodeOrder WalkOrder(const Dictionary& dictionary) {
  const uint32_t count = dictionary.node_count();
  // First how many nodes each has below it and itself, then where the next of its children goes.
  std::vector<uint32_t> place(count, 1);
  for (uint32_t node = count; node-- > 1;) place[dictionary.node(node).parent] += place[node];
  NodeOrder order;
  order.number.resize(count);
  order.node.resize(count);
  for (uint32_t node = 0; node < count; ++node) {
    const uint32_t below = place[node];
    if (node != 0) {
      uint32_t& next = place[dictionary.node(node).parent];
      order.number[node] = next;
      next += below;
    }
    order.node[order.number[node]] = node;
    place[node] = order.number[node] + 1;
  }
  return order;
}

}  // namespace vesta::store::index
