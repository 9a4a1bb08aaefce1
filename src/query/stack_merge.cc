#include "src/query/stack_merge.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "src/profile/profile.h"

namespace vesta::query {
namespace {

constexpr size_t kSumsPerCheck = 4096;
// Of the memory that is left, for a tree that is cut while it is made; the rest is for the reads.
constexpr size_t kTreeShare = 4;
// What a block may bring of the nodes that it may have.
constexpr size_t kBlockShare = 4;
// Of the nodes that it may have, so many more than it will be cut to stay whenever it is full.
constexpr size_t kCutSpare = 2;
// What a node costs in the tree and in what is made of it, apart from its columns.
constexpr size_t kBytesPerNode = 96;

}  // namespace

StackMerger::StackMerger(bool has_count, bool lines, size_t sides, size_t cut_nodes,
                         size_t cut_column, const store::ReadLimits& limits,
                         flame::TreeBuilder& tree)
    : has_count_(has_count),
      has_lines_(lines),
      cut_column_(cut_column),
      is_shown_count_(has_count && cut_column < sides),
      guard_(limits),
      tree_(tree),
      sides_(sides) {
  const uint64_t memory =
      limits.memory != nullptr ? limits.memory->left_bytes() : limits.memory_bytes_max;
  const size_t fit = memory / kTreeShare / BytesPerNode();
  if (cut_nodes != 0 && fit / 2 >= kCutSpare * cut_nodes) nodes_max_ = fit;
}

base::Result<void> StackMerger::Add(const store::StackBlock& block,
                                    const std::function<MergeGroup(uint32_t group)>& group_of) {
  StartBlock(block);
  // Sums in the order of their roots: below each, a node of the block is another of the tree.
  std::map<uint32_t, MergeGroup> groups;
  std::map<uint32_t, std::vector<uint32_t>> by_root;
  uint32_t last_group = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t>* last = nullptr;
  for (uint32_t i = 0; i < block.sums.size(); ++i) {
    const uint32_t group = block.sums[i].group;
    if (last == nullptr || group != last_group) {
      const auto [known, is_new] = groups.try_emplace(group);
      if (is_new) known->second = group_of(group);
      last = &by_root[known->second.root];
      last_group = group;
    }
    last->push_back(i);
  }
  for (const auto& [first_root, sums] : by_root) {
    StartNodes();
    uint32_t root = was_cut_ ? group_of(block.sums[sums[0]].group).root : first_root;
    const MergeGroup* group = nullptr;
    uint32_t group_id = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (i % kSumsPerCheck == 0) RETURN_IF_ERROR(CheckLimits());
      const store::StackSum& sum = block.sums[sums[i]];
      if (group == nullptr || group_id != sum.group) {
        group = &groups.at(sum.group);
        group_id = sum.group;
      }
      if (sum.value == 0 && !has_count_) continue;  // as MakeStackTree leaves it out
      if (nodes_max_ != 0 && !is_restarted_ && tree_.size() >= nodes_max_) {
        tree_.Prune(nodes_max_ / 2, cut_column_);
        was_cut_ = true;
        StartNodes();
        root = group_of(sum.group).root;
      }
      ASSIGN_OR_RETURN(const uint32_t node, NodeOf(block, root, sum.node));
      AddSum(*group, node, sum);
      if (sum.node != 0 && IsSmall(block.parent[sum.node]))
        tree_.NoteCut(node, is_shown_count_ ? sum.count : sum.value);
    }
  }
  return CheckLimits();
}

void StackMerger::Restart() {
  tree_.Restart(nodes_max_ / 2, cut_column_);
  std::ranges::fill(sides_, MergeSide());
  is_restarted_ = true;
}

void StackMerger::StartNodes() {
  for (const uint32_t node : seen_nodes_) nodes_[node] = 0;
  seen_nodes_.clear();
}

// What is small in a block gets no nodes of its own below its first one: most of it would be cut
// again before the next block.
void StackMerger::WeighNodes(const store::StackBlock& block) {
  small_max_ = 0;
  totals_.clear();
  const size_t nodes_max = nodes_max_ / kBlockShare;
  if (!was_cut_ || is_restarted_ || block.parent.size() <= nodes_max) return;
  totals_.resize(block.parent.size());
  for (const store::StackSum& sum : block.sums) {
    int64_t& total = totals_[sum.node];
    total = profile::AddSaturating(total, is_shown_count_ ? sum.count : sum.value);
  }
  for (size_t node = totals_.size(); node-- > 1;) {
    int64_t& above = totals_[block.parent[node]];
    above = profile::AddSaturating(above, totals_[node]);
  }
  std::vector<int64_t> order = totals_;
  const auto last = order.begin() + static_cast<std::ptrdiff_t>(nodes_max);
  std::ranges::nth_element(order, last, std::greater<>());
  small_max_ = *last;
}

void StackMerger::StartBlock(const store::StackBlock& block) {
  StartNodes();
  WeighNodes(block);
  if (nodes_.size() < block.parent.size()) nodes_.resize(block.parent.size());
  places_.Clear();
  functions_.Clear();
  images_.Clear();
  texts_.clear();
}

base::Result<uint32_t> StackMerger::NodeOf(const store::StackBlock& block, uint32_t root,
                                           uint32_t node) {
  if (node == 0) return tree_.Child(root, tree_.frames().PlaceOfNoStack());
  path_.clear();
  uint32_t at = node;
  for (; at != 0 && nodes_[at] == 0; at = block.parent[at]) path_.push_back(at);
  uint32_t mine = at == 0 ? root : nodes_[at];
  for (size_t i = path_.size(); i-- > 0;) {
    nodes_[path_[i]] = mine;
    seen_nodes_.push_back(path_[i]);
    if (tree_.IsRest(mine) || IsSmall(block.parent[path_[i]])) continue;
    const uint32_t frame = block.frame[path_[i]];
    uint32_t& place = places_.At(frame);
    if (place == 0) {
      ASSIGN_OR_RETURN(place, PlaceOf(*block.names, frame));
      ++place;
    }
    mine = tree_.Child(mine, place - 1);
    nodes_[path_[i]] = mine;
  }
  return mine;
}

base::Result<uint32_t> StackMerger::PlaceOf(const store::Names& names, uint32_t frame) {
  ASSIGN_OR_RETURN(const store::FrameView view, names.frame(frame));
  flame::SourceFrame source{.image = 0, .address = {.path = {}, .address = view.address}};
  if (view.image != 0) {
    ASSIGN_OR_RETURN(const KnownImage* image, ImageOf(names, view.image));
    source.image = image->path;
    source.address = {image->view.path, image->view.memory_start, image->view.memory_limit,
                      image->view.file_offset, view.address};
  }
  lines_.clear();
  for (const store::FrameLine& line : view.lines) {
    ASSIGN_OR_RETURN(const KnownFunction* function, FunctionOf(names, line.function));
    lines_.push_back(
        {function->name, function->file, function->start_line, has_lines_ ? line.line : 0});
  }
  source.lines = lines_;
  return tree_.frames().PlaceOfAddress(source);
}

uint32_t StackMerger::TextOf(std::string_view text) {
  const auto [known, is_new] = texts_.try_emplace(text.data());
  if (is_new || known->second.first != text.size())
    known->second = {text.size(), tree_.frames().InternString(text)};
  return known->second.second;
}

base::Result<const StackMerger::KnownFunction*> StackMerger::FunctionOf(const store::Names& names,
                                                                        uint32_t function) {
  KnownFunction& known = functions_.At(function);
  if (!known.is_known) {
    ASSIGN_OR_RETURN(const store::FunctionView view, names.function(function));
    flame::FrameTable& table = tree_.frames();
    known = {table.InternString(view.name.empty() ? view.system_name : view.name),
             TextOf(view.file), view.start_line, true};
  }
  return &known;
}

base::Result<const StackMerger::KnownImage*> StackMerger::ImageOf(const store::Names& names,
                                                                  uint32_t image) {
  KnownImage& known = images_.At(image);
  if (!known.is_known) {
    ASSIGN_OR_RETURN(const store::ImageView view, names.image(image));
    known = {tree_.frames().InternString(view.path), view, true};
  }
  return &known;
}

void StackMerger::AddSum(const MergeGroup& group, uint32_t node, const store::StackSum& sum) {
  size_t column = group.side;
  if (has_count_) {
    tree_.Add(node, column, sum.count);
    column += sides_.size();
  }
  tree_.Add(node, column, sum.value);
  MergeSide& side = sides_[group.side];
  side.value = profile::AddSaturating(side.value, sum.value);
  side.count = profile::AddSaturating(side.count, sum.count);
  side.worth.Add(sum.value, sum.count);
}

size_t StackMerger::BytesPerNode() const {
  const size_t columns = sides_.size() * (has_count_ ? 2 : 1);
  return kBytesPerNode + columns * 3 * sizeof(int64_t);
}

base::Result<void> StackMerger::CheckLimits() {
  RETURN_IF_ERROR(guard_.Check());
  RETURN_IF_ERROR(guard_.Hold(tree_.size() * BytesPerNode() + nodes_.size() * sizeof(uint32_t) +
                              totals_.size() * 2 * sizeof(int64_t) + places_.memory_bytes() +
                              functions_.memory_bytes()));
  if (tree_.is_too_large()) return tree_.TooLarge();
  return {};
}

}  // namespace vesta::query
