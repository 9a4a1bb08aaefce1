// Adds the blocks of a read of stacks to one tree.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/flame/sample_worth.h"
#include "src/flame/tree_builder.h"
#include "src/query/sparse_rows.h"
#include "src/store/read_guard.h"
#include "src/store/store.h"

namespace vesta::query {

// Where the sums of a group go.
struct MergeGroup {
  uint32_t root = 0;  // node of the tree
  size_t side = 0;
};

// Per side, what is seen while merging.
struct MergeSide {
  int64_t value = 0;
  int64_t count = 0;
  flame::SampleWorth worth;
};

// Shape: columns of the tree: (has_count ? count : nothing), value; each per side.
// Cost:  a step of the trie per node that leads to a sum; names once per frame and block.
class StackMerger {
 public:
  // lines: whether the tree is to know the lines of its frames.
  // cut_nodes: what the tree will be cut to, by its first side's column `cut_column`. It then keeps
  // many times as many nodes while it is made, but no more than a part of the memory holds; 0 =
  // all nodes are needed.
  StackMerger(bool has_count, bool lines, size_t sides, size_t cut_nodes, size_t cut_column,
              const store::ReadLimits& limits, flame::TreeBuilder& tree);

  // `group_of` is asked at least once per group of the block, and again when nodes got other
  // numbers.
  // Errors: Exhausted and Unavailable by the limits; Corrupt as Names.
  base::Result<void> Add(const store::StackBlock& block,
                         const std::function<MergeGroup(uint32_t group)>& group_of);

  const std::vector<MergeSide>& sides() const { return sides_; }

  // Whether branches were cut while merging: the figures that are left are exact when all is added
  // once more after Restart.
  bool was_cut() const { return was_cut_; }
  void Restart();

 private:
  struct KnownFunction {
    uint32_t name = 0;
    uint32_t file = 0;
    int64_t start_line = 0;
    bool is_known = false;
  };
  struct KnownImage {
    uint32_t path = 0;
    store::ImageView view;
    bool is_known = false;
  };

  void StartBlock(const store::StackBlock& block);
  base::Result<uint32_t> NodeOf(const store::StackBlock& block, uint32_t root, uint32_t node);
  base::Result<uint32_t> PlaceOf(const store::Names& names, uint32_t frame);
  uint32_t TextOf(std::string_view text);
  base::Result<const KnownFunction*> FunctionOf(const store::Names& names, uint32_t function);
  base::Result<const KnownImage*> ImageOf(const store::Names& names, uint32_t image);
  size_t BytesPerNode() const;
  void StartNodes();
  void WeighNodes(const store::StackBlock& block);
  bool IsSmall(uint32_t node) const {
    return node != 0 && small_max_ > 0 && totals_[node] <= small_max_;
  }
  void AddSum(const MergeGroup& group, uint32_t node, const store::StackSum& sum);
  base::Result<void> CheckLimits();

  const bool has_count_;
  const bool has_lines_;
  const size_t cut_column_;
  const bool is_shown_count_;  // that column's values are counts
  store::ReadGuard guard_;     // holds what the tree takes
  flame::TreeBuilder& tree_;
  std::vector<MergeSide> sides_;
  size_t nodes_max_ = 0;  // that the tree may have; 0 = all
  bool was_cut_ = false;
  bool is_restarted_ = false;
  // Of the block being added.
  std::vector<uint32_t> nodes_;  // by its node: that of the tree below the root at hand; 0 = unseen
  std::vector<uint32_t> seen_nodes_;
  // Once the tree was cut: sums of its nodes with all below, and what of them is not worth a node.
  std::vector<int64_t> totals_;
  int64_t small_max_ = 0;
  SparseRows<uint32_t> places_;  // by its frame: 1 + the place; 0 = unseen
  SparseRows<KnownFunction> functions_;
  SparseRows<KnownImage> images_;
  // Texts by where they lie: a dictionary has each once, and many functions share a file.
  std::unordered_map<const char*, std::pair<size_t, uint32_t>> texts_;
  std::vector<flame::SourceLine> lines_;
  std::vector<uint32_t> path_;
};

}  // namespace vesta::query
