#include "src/flame/function_trie.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/flame/trie_walk.h"

namespace vesta::flame {
namespace {

using profile::AddSaturating;

// Which of the nodes stay, the heaviest first; an ancestor is never lighter and has a smaller
// number, so it stays as well.
// What stands for a rest already is no choice: it stays a rest.
std::vector<uint32_t> ChooseNodes(const CallTrie& nodes, std::span<const double> weight,
                                  size_t nodes_max, uint32_t rest_function) {
  std::vector<uint32_t> order;
  order.reserve(nodes.size());
  for (uint32_t node = 1; node < nodes.size(); ++node)
    if (nodes.item(node) != rest_function) order.push_back(node);
  const auto heavier = [&](uint32_t a, uint32_t b) {
    return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
  };
  if (order.size() > nodes_max) {
    std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(nodes_max),
                             heavier);
    order.resize(nodes_max);
  }
  std::ranges::sort(order, heavier);

  std::vector<uint32_t> children_left(nodes.size());
  for (uint32_t node = 1; node < nodes.size(); ++node) ++children_left[nodes.parent(node)];
  size_t rests = children_left[0] == 0 ? 0 : 1;
  size_t best = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (--children_left[nodes.parent(order[i])] == 0) --rests;
    if (children_left[order[i]] != 0) ++rests;
    if (2 + i + rests <= nodes_max) best = i + 1;
  }
  order.resize(best);
  std::ranges::sort(order);
  return order;
}

// Sorted by (name, image, file, kind); the root first.
std::vector<uint32_t> OrderFunctions(std::vector<uint32_t> used,
                                     const std::vector<TreeFunction>& rows,
                                     const std::vector<std::string>& strings) {
  std::sort(used.begin() + 1, used.end(), [&](uint32_t a, uint32_t b) {
    const TreeFunction& x = rows[a];
    const TreeFunction& y = rows[b];
    return std::tie(strings[x.name], strings[x.image], strings[x.file], x.kind) <
           std::tie(strings[y.name], strings[y.image], strings[y.file], y.kind);
  });
  return used;
}

// Moves the strings that functions use to the front and renumbers them; string 0 stays.
void CompactStrings(std::vector<TreeFunction>& functions, std::vector<std::string>& strings) {
  std::vector<uint32_t> number(strings.size(), kNoFunction);
  std::vector<std::string> used = {std::move(strings[0])};
  number[0] = 0;
  const auto renumber = [&](uint32_t& string) {
    if (number[string] == kNoFunction) {
      number[string] = static_cast<uint32_t>(used.size());
      used.push_back(std::move(strings[string]));
    }
    string = number[string];
  };
  for (TreeFunction& function : functions) {
    renumber(function.name);
    renumber(function.image);
    renumber(function.file);
  }
  strings = std::move(used);
}

}  // namespace

std::vector<std::vector<int64_t>> FunctionTrie::Totals() const {
  std::vector<std::vector<int64_t>> totals = self_;
  for (auto& column : totals) {
    column.resize(nodes_.size());
    for (auto node = static_cast<uint32_t>(nodes_.size()); node-- > 1;) {
      int64_t& above = column[nodes_.parent(node)];
      above = AddSaturating(above, column[node]);
    }
  }
  return totals;
}

void FunctionTrie::Cut(size_t nodes_max, std::span<const size_t> weighed, uint32_t rest_function) {
  CHECK(nodes_max >= 2);
  if (nodes_.size() <= nodes_max) return;
  const auto totals = Totals();
  std::vector<double> weight(nodes_.size());
  for (const size_t column : weighed) {
    const double all = std::max(1.0, static_cast<double>(totals[column][0]));
    for (size_t node = 0; node < weight.size(); ++node)
      weight[node] += static_cast<double>(totals[column][node]) / all;
  }
  FunctionTrie kept(columns());
  std::vector<uint32_t> place(nodes_.size(), kNoFunction);
  place[0] = 0;
  for (const uint32_t node : ChooseNodes(nodes_, weight, nodes_max, rest_function))
    place[node] = kept.Child(place[nodes_.parent(node)], nodes_.item(node));
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    const bool stays = place[node] != kNoFunction;
    if (!stays && place[nodes_.parent(node)] == kNoFunction) continue;
    for (size_t column = 0; column < columns(); ++column) {
      const int64_t value = !stays                        ? totals[column][node]
                            : node < self_[column].size() ? self_[column][node]
                                                          : 0;
      if (value == 0) continue;
      kept.Add(stays ? place[node] : kept.Child(place[nodes_.parent(node)], rest_function), column,
               value);
    }
  }
  *this = std::move(kept);
}

std::vector<uint32_t> FunctionTrie::Write(std::vector<TreeFunction> functions,
                                          std::vector<std::string> strings, StackTree& tree) const {
  std::vector<uint32_t> rank(functions.size(), kNoFunction);
  std::vector<uint32_t> used = {0};
  rank[0] = 0;
  for (uint32_t node = 1; node < nodes_.size(); ++node) {
    if (std::exchange(rank[nodes_.item(node)], 0) == kNoFunction) used.push_back(nodes_.item(node));
  }
  const bool drops = used.size() < functions.size();
  used = OrderFunctions(std::move(used), functions, strings);
  tree.functions.clear();
  for (uint32_t i = 0; i < used.size(); ++i) {
    rank[used[i]] = i;
    tree.functions.push_back(functions[used[i]]);
  }
  tree.strings = std::move(strings);
  if (drops) CompactStrings(tree.functions, tree.strings);

  // Pushed from the last function to the first, so that each list of children ends up in order.
  std::vector<uint32_t> starts(used.size() + 1);
  for (uint32_t node = 1; node < nodes_.size(); ++node) ++starts[rank[nodes_.item(node)] + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<uint32_t> by_function(nodes_.size() - 1);
  for (uint32_t node = 1; node < nodes_.size(); ++node)
    by_function[starts[rank[nodes_.item(node)]]++] = node;
  TrieLinks links(nodes_.size());
  for (size_t i = by_function.size(); i-- > 0;)
    links.PushFront(nodes_.parent(by_function[i]), by_function[i]);

  tree.depth.clear();
  tree.function.clear();
  tree.depth.reserve(nodes_.size());
  tree.function.reserve(nodes_.size());
  tree.self.assign(columns(), {});
  for (auto& column : tree.self) column.reserve(nodes_.size());
  links.Walk(
      nodes_,
      [&](uint32_t node, uint32_t depth) {
        tree.depth.push_back(depth);
        tree.function.push_back(node == 0 ? 0 : rank[nodes_.item(node)]);
        for (size_t column = 0; column < columns(); ++column)
          tree.self[column].push_back(node < self_[column].size() ? self_[column][node] : 0);
      },
      [](uint32_t) {});
  return rank;
}

uint32_t AddRestFunction(std::vector<TreeFunction>& functions, std::vector<std::string>& strings) {
  const auto known = std::ranges::find(strings, kRestName);
  const auto name = static_cast<uint32_t>(known - strings.begin());
  if (known == strings.end()) strings.emplace_back(kRestName);
  const auto is_rest = [&](const TreeFunction& row) {
    return row.name == name && row.image == 0 && row.file == 0 && row.kind == FunctionKind::kOther;
  };
  const auto row =
      static_cast<size_t>(std::ranges::find_if(functions, is_rest) - functions.begin());
  if (row == functions.size())
    functions.push_back({.name = name, .image = 0, .file = 0, .kind = FunctionKind::kOther});
  return static_cast<uint32_t>(row);
}

}  // namespace vesta::flame
