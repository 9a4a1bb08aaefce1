// Trees that are cut while they are made.
#include <algorithm>
#include <utility>

#include "src/flame/tree_builder.h"

namespace vesta::flame {
namespace {

using profile::AddSaturating;

constexpr int64_t kUnknown = -1;
constexpr uint32_t kUnseen = std::numeric_limits<uint32_t>::max();

}  // namespace

uint32_t TreeBuilder::PlaceOfFunction(uint32_t function) {
  if (function >= function_place_.size())
    function_place_.resize(frames_.functions().size(), kUnseen);
  uint32_t& known = function_place_[function];
  if (known == kUnseen) known = frames_.PlaceOfFunction(function);
  return known;
}

uint32_t TreeBuilder::ChildByFunction(uint32_t parent, uint32_t place) {
  uint32_t node = parent;
  const size_t frames = frames_.place(place).size();
  for (size_t i = 0; i < frames; ++i) {
    if (IsRest(node)) return node;
    const uint32_t step = PlaceOfFunction(frames_.place(place)[i].function);
    const uint32_t next = is_fixed_ ? trie_.Find(node, step) : trie_.Child(node, step);
    node = next == 0 ? trie_.Child(node, rest_) : next;
  }
  return node;
}

// The same tree with a node for each function of a place.
void TreeBuilder::SplitByFunction() {
  is_by_function_ = true;
  rest_ = frames_.PlaceOfRest();
  const CallTrie old = std::exchange(trie_, CallTrie());
  const std::vector<int64_t> values = std::exchange(values_, {});
  std::vector<uint32_t> at(old.size());
  for (uint32_t node = 1; node < old.size(); ++node)
    at[node] = ChildByFunction(at[old.parent(node)], old.item(node));
  values_.resize(trie_.size() * columns_);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t& sum = values_[at[i / columns_] * columns_ + i % columns_];
    sum = AddSaturating(sum, values[i]);
  }
}

void TreeBuilder::NoteCut(uint32_t node, int64_t value) {
  if (cut_.size() <= node) cut_.resize(trie_.size());
  cut_[node] = AddSaturating(cut_[node], value);
}

void TreeBuilder::Prune(size_t nodes_max, size_t column) {
  most_nodes_ = most_nodes();
  if (!is_by_function_) SplitByFunction();
  const CallTrie old = std::exchange(trie_, CallTrie());
  std::vector<int64_t> values = std::exchange(values_, {});
  values.resize(old.size() * columns_);
  std::vector<int64_t> totals = values;
  std::vector<uint32_t> order;  // a rest stays what it is
  order.reserve(old.size());
  for (auto node = static_cast<uint32_t>(old.size()); node-- > 1;) {
    for (size_t i = 0; i < columns_; ++i) {
      int64_t& above = totals[old.parent(node) * columns_ + i];
      above = AddSaturating(above, totals[node * columns_ + i]);
    }
    if (old.item(node) != rest_) order.push_back(node);
  }
  const auto weight = [&](uint32_t node) { return totals[node * columns_ + column]; };
  if (order.size() > nodes_max) {
    // A node is never heavier than its parent, whose number is smaller.
    std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(nodes_max),
                             [&](uint32_t a, uint32_t b) {
                               return weight(a) != weight(b) ? weight(a) > weight(b) : a < b;
                             });
    order.resize(nodes_max);
  }
  std::ranges::sort(order);
  std::vector<uint32_t> at(old.size(), kUnseen);
  at[0] = 0;
  for (const uint32_t node : order) at[node] = trie_.Child(at[old.parent(node)], old.item(node));
  const size_t kept = trie_.size();
  std::vector<int64_t> lost_now(kept);  // the largest branch that a node loses now
  for (uint32_t node = 0; node < old.size(); ++node) {
    const uint32_t parent = at[old.parent(node)];
    const bool stays = at[node] != kUnseen;
    if (!stays && parent == kUnseen) continue;
    if (!stays && old.item(node) != rest_)
      lost_now[parent] = std::max(lost_now[parent], weight(node));
    const uint32_t to = stays ? at[node] : trie_.Child(parent, rest_);
    for (size_t i = 0; i < columns_; ++i)
      Add(to, i, (stays ? values : totals)[node * columns_ + i]);
  }
  // Of a path at most one branch is lost at a time.
  lost_.resize(old.size(), kUnknown);
  std::vector<int64_t> lost(kept);
  for (uint32_t node = 0; node < old.size(); ++node) {
    if (lost_[node] == kUnknown) lost_[node] = node == 0 ? 0 : lost_[old.parent(node)];
    if (at[node] == kUnseen) continue;
    int64_t& now = lost_now[at[node]];
    if (node != 0) now = std::max(now, lost_now[at[old.parent(node)]]);
    lost[at[node]] = AddSaturating(lost_[node], now);
  }
  lost_ = std::move(lost);
  std::vector<int64_t> cut(kept);
  for (uint32_t node = 0; node < std::min(cut_.size(), old.size()); ++node)
    if (at[node] != kUnseen) cut[at[node]] = cut_[node];
  cut_ = std::move(cut);
}

void TreeBuilder::Restart(size_t nodes_max, size_t column) {
  Prune(nodes_max, column);
  // Values that were added above their ends may all be of one path.
  for (uint32_t node = 0; node < lost_.size(); ++node) {
    cut_[node] = AddSaturating(cut_[node], node == 0 ? 0 : cut_[trie_.parent(node)]);
    missing_max_ = std::max(missing_max_, AddSaturating(lost_[node], cut_[node]));
  }
  cut_.clear();
  values_.clear();
  is_fixed_ = true;
}

}  // namespace vesta::flame
