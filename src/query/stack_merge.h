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
#include "src/flame/tree_builder.h"
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
  double least_per_sample = 0;  // of all sums; 0 = a sum has no count or no value
  double most_per_sample = 0;
  bool any = false;
};

// Shape: columns of the tree: (has_count ? count : nothing), value; each per side.
// Cost:  a step of the trie per node that leads to a sum; names once per frame and block.
class StackMerger {
 public:
  // lines: whether the tree is to know the lines of its frames.
  StackMerger(bool has_count, bool lines, size_t sides, const store::ReadLimits& limits,
              flame::TreeBuilder& tree);

  // `group_of` is asked once per group of the block.
  // Errors: Exhausted and Unavailable by the limits; Corrupt as Names.
  base::Result<void> Add(const store::StackBlock& block,
                         const std::function<MergeGroup(uint32_t group)>& group_of);

  const std::vector<MergeSide>& sides() const { return sides_; }

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
  void AddSum(const MergeGroup& group, uint32_t node, const store::StackSum& sum);
  base::Result<void> CheckLimits();

  const bool has_count_;
  const bool has_lines_;
  const store::ReadLimits& limits_;
  flame::TreeBuilder& tree_;
  std::vector<MergeSide> sides_;
  // Of the block being added.
  std::vector<uint32_t> nodes_;  // by its node: that of the tree below the root at hand; 0 = unseen
  std::vector<uint32_t> seen_nodes_;
  std::vector<uint32_t> places_;  // by its frame: 1 + the place; 0 = unseen
  std::vector<KnownFunction> functions_;
  std::vector<KnownImage> images_;
  // Texts by where they lie: a dictionary has each once, and many functions share a file.
  std::unordered_map<const char*, std::pair<size_t, uint32_t>> texts_;
  std::vector<flame::SourceLine> lines_;
  std::vector<uint32_t> path_;
};

}  // namespace vesta::query
