#include "src/query/stack_merge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "src/profile/profile.h"

namespace vesta::query {
namespace {

constexpr size_t kSumsPerCheck = 4096;
// What a node costs in the tree and in what is made of it, apart from its columns.
constexpr size_t kBytesPerNode = 96;

template <typename T>
T& At(std::vector<T>& rows, uint32_t index) {
  if (index >= rows.size()) rows.resize(std::max<size_t>(index + size_t{1}, rows.size() * 2));
  return rows[index];
}

}  // namespace

StackMerger::StackMerger(bool has_count, bool lines, size_t sides, const store::ReadLimits& limits,
                         flame::TreeBuilder& tree)
    : has_count_(has_count), has_lines_(lines), limits_(limits), tree_(tree), sides_(sides) {}

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
  for (const auto& [root, sums] : by_root) {
    for (const uint32_t node : seen_nodes_) nodes_[node] = 0;
    seen_nodes_.clear();
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
      ASSIGN_OR_RETURN(const uint32_t node, NodeOf(block, root, sum.node));
      AddSum(*group, node, sum);
    }
  }
  return CheckLimits();
}

void StackMerger::StartBlock(const store::StackBlock& block) {
  for (const uint32_t node : seen_nodes_) nodes_[node] = 0;
  seen_nodes_.clear();
  if (nodes_.size() < block.parent.size()) nodes_.resize(block.parent.size());
  std::ranges::fill(places_, 0);
  functions_.clear();
  images_.clear();
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
    const uint32_t frame = block.frame[path_[i]];
    uint32_t place = frame < places_.size() ? places_[frame] : 0;
    if (place == 0) {
      ASSIGN_OR_RETURN(place, PlaceOf(*block.names, frame));
      At(places_, frame) = ++place;
    }
    mine = tree_.Child(mine, place - 1);
    nodes_[path_[i]] = mine;
    seen_nodes_.push_back(path_[i]);
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
  KnownFunction& known = At(functions_, function);
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
  KnownImage& known = At(images_, image);
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
  const double ratio = sum.count > 0 && sum.value > 0
                           ? static_cast<double>(sum.value) / static_cast<double>(sum.count)
                           : 0;
  side.least_per_sample = side.any ? std::min(side.least_per_sample, ratio) : ratio;
  side.most_per_sample = std::max(side.most_per_sample, ratio);
  side.any = true;
}

base::Result<void> StackMerger::CheckLimits() {
  store::ReadGuard guard(limits_);
  RETURN_IF_ERROR(guard.Check());
  const size_t columns = sides_.size() * (has_count_ ? 2 : 1);
  RETURN_IF_ERROR(guard.Take(tree_.size() * (kBytesPerNode + columns * 3 * sizeof(int64_t)) +
                             nodes_.size() * sizeof(uint32_t)));
  if (tree_.is_too_large()) return tree_.TooLarge();
  return {};
}

}  // namespace vesta::query
