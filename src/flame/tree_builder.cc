#include "src/flame/tree_builder.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "src/flame/function_trie.h"
#include "src/flame/trie_walk.h"

namespace vesta::flame {
namespace {

using profile::AddSaturating;

constexpr size_t kColumnsCheap = 16;
constexpr uint32_t kUnseen = std::numeric_limits<uint32_t>::max();

int64_t Magnitude(int64_t value) {
  return value < 0 ? -std::max(value, -std::numeric_limits<int64_t>::max()) : value;
}

void AddTo(int64_t& sum, int64_t value) { sum = AddSaturating(sum, value); }

}  // namespace

TreeBuilder::TreeBuilder(size_t columns, size_t nodes_max)
    : columns_(columns), nodes_max_(nodes_max / std::max(columns, kColumnsCheap) * kColumnsCheap) {}

void TreeBuilder::Add(uint32_t node, size_t column, int64_t value) {
  if (values_.size() < trie_.size() * columns_) values_.resize(trie_.size() * columns_);
  AddTo(values_[node * columns_ + column], Magnitude(value));
}

base::Error TreeBuilder::TooLarge() const {
  return base::Error(base::ErrorCode::kExhausted,
                     "the call tree would have more than " + std::to_string(nodes_max_) + " nodes");
}

std::vector<bool> TreeBuilder::NodesWithValues(std::span<const size_t> columns) const {
  std::vector<bool> has(trie_.size());
  for (auto node = static_cast<uint32_t>(trie_.size()); node-- > 0;) {
    has[node] = has[node] || std::ranges::any_of(columns, [&](size_t column) {
                  return ValueAt(node, column) != 0;
                });
    if (has[node] && node != 0) has[trie_.parent(node)] = true;
  }
  return has;
}

std::vector<std::string_view> TreeBuilder::ImagesOf(std::span<const size_t> columns) const {
  const std::vector<bool> has = NodesWithValues(columns);
  std::vector<bool> used(frames_.place_count());
  for (uint32_t node = 1; node < trie_.size(); ++node) {
    if (has[node]) used[trie_.item(node)] = true;
  }
  std::vector<bool> image_used(frames_.strings().size());
  std::vector<std::string_view> paths;
  for (uint32_t place = 0; place < used.size(); ++place) {
    if (!used[place]) continue;
    const uint32_t image = frames_.functions()[frames_.place(place)[0].function].image;
    if (image == 0 || image_used[image]) continue;
    image_used[image] = true;
    paths.push_back(frames_.strings()[image]);
  }
  return paths;
}

void TreeBuilder::ReplaceImages(std::span<const size_t> columns, const ImageAliases& aliases) {
  if (aliases.empty()) return;
  std::vector<uint32_t> image_of(frames_.strings().size());
  std::iota(image_of.begin(), image_of.end(), 0u);
  for (const auto& [from, to] : aliases)
    image_of[frames_.InternString(from)] = frames_.InternString(to);

  std::vector<size_t> others;
  for (size_t column = 0; column < columns_; ++column) {
    if (std::ranges::find(columns, column) == columns.end()) others.push_back(column);
  }
  const CallTrie old = std::exchange(trie_, CallTrie());
  std::vector<int64_t> values = std::exchange(values_, {});
  const auto copy = [&](std::span<const size_t> mine, const auto& place_of) {
    std::vector<bool> has(old.size());
    const auto value = [&](uint32_t node, size_t column) {
      const size_t index = node * columns_ + column;
      return index < values.size() ? values[index] : 0;
    };
    for (auto node = static_cast<uint32_t>(old.size()); node-- > 1;) {
      for (const size_t column : mine) has[node] = has[node] || value(node, column) != 0;
      if (has[node]) has[old.parent(node)] = true;
    }
    std::vector<uint32_t> at(old.size());
    for (uint32_t node = 1; node < old.size(); ++node) {
      if (!has[node]) continue;
      at[node] = trie_.Child(at[old.parent(node)], place_of(old.item(node)));
      for (const size_t column : mine) Add(at[node], column, value(node, column));
    }
  };
  std::vector<uint32_t> moved(frames_.place_count(), kUnseen);
  copy(columns, [&](uint32_t place) {
    uint32_t& known = moved[place];
    if (known == kUnseen) known = frames_.WithImages(place, image_of);
    return known;
  });
  copy(others, [](uint32_t place) { return place; });
}

base::Result<size_t> TreeBuilder::Finish(const TreeFinish& options, StackTree& tree) {
  FunctionTrie merged(columns_);
  // A few bytes can name a place of many frames again and again.
  size_t steps_left = nodes_max_ * 16;
  std::vector<uint32_t> at(trie_.size());
  for (uint32_t node = 1; node < trie_.size(); ++node) {
    const auto place = frames_.place(trie_.item(node));
    if (place.size() > steps_left) return TooLarge();
    steps_left -= place.size();
    uint32_t step = at[trie_.parent(node)];
    for (const PlaceFrame& frame : place) step = merged.Child(step, frame.function);
    if (merged.size() > nodes_max_) return TooLarge();
    at[node] = step;
    for (size_t column = 0; column < columns_; ++column) {
      if (const int64_t value = ValueAt(node, column); value != 0) merged.Add(step, column, value);
    }
  }
  const size_t nodes_all = merged.size();
  std::vector<TreeFunction> functions = std::move(frames_.functions());
  std::vector<std::string> strings = std::move(frames_.strings());
  if (options.nodes_max != 0 && nodes_all > options.nodes_max) {
    const uint32_t rest = AddRestFunction(functions, strings);
    merged.Cut(options.nodes_max, WeighedColumns(tree), rest);
  }
  const std::vector<uint32_t> rank = merged.Write(std::move(functions), std::move(strings), tree);
  if (options.lines && !is_by_function_ && !frames_.lines().empty()) WriteLines(rank, tree);
  return nodes_all;
}

// A line's total needs the tree of places: the merged one does not know lines.
void TreeBuilder::WriteLines(std::span<const uint32_t> rank, StackTree& tree) const {
  const auto& rows = frames_.lines();
  std::vector<uint32_t> order;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    if (rank[rows[row].function] != kNoFunction) order.push_back(row);
  }
  const auto key = [&](uint32_t row) {
    return std::pair(rank[rows[row].function], rows[row].line);
  };
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  std::vector<uint32_t> position(rows.size(), kNoLine);
  for (uint32_t i = 0; i < order.size(); ++i) {
    position[order[i]] = i;
    tree.lines.push_back({key(order[i]).first, key(order[i]).second});
  }
  tree.line_self.assign(columns_, std::vector<int64_t>(order.size()));
  tree.line_total = tree.line_self;

  std::vector<int64_t> totals(trie_.size() * columns_);
  TrieLinks links(trie_.size());
  for (auto node = static_cast<uint32_t>(trie_.size()); node-- > 1;) {
    links.PushFront(trie_.parent(node), node);
    for (size_t column = 0; column < columns_; ++column) {
      int64_t& total = totals[node * columns_ + column];
      AddTo(total, ValueAt(node, column));
      AddTo(totals[trie_.parent(node) * columns_ + column], total);
    }
  }
  std::vector<uint32_t> open(rows.size());  // how often a line is on the stack
  const auto has_row = [&](uint32_t line) { return line != kNoLine && position[line] != kNoLine; };
  links.Walk(
      trie_,
      [&](uint32_t node, uint32_t) {
        if (node == 0) return;
        const auto place = frames_.place(trie_.item(node));
        for (const PlaceFrame& frame : place) {
          if (!has_row(frame.line) || open[frame.line]++ != 0) continue;
          for (size_t column = 0; column < columns_; ++column)
            AddTo(tree.line_total[column][position[frame.line]], totals[node * columns_ + column]);
        }
        if (!has_row(place.back().line)) return;
        for (size_t column = 0; column < columns_; ++column)
          AddTo(tree.line_self[column][position[place.back().line]], ValueAt(node, column));
      },
      [&](uint32_t node) {
        if (node == 0) return;
        for (const PlaceFrame& frame : frames_.place(trie_.item(node)))
          if (has_row(frame.line)) --open[frame.line];
      });
}

}  // namespace vesta::flame
