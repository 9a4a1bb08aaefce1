#include "src/store/index/node_source.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "src/base/check.h"

namespace vesta::store::index {
namespace {

constexpr uint32_t kWords = kNodePageRows / 64;

// Which nodes of a page are needed, and the local number of each.
struct NeededPage {
  std::array<uint64_t, kWords> bits = {};
  std::array<uint32_t, kWords> rank = {};  // local number of the first node of the word
  NodePage page;

  void Mark(uint32_t offset) { bits[offset / 64] |= uint64_t{1} << (offset % 64); }
  uint32_t Local(uint32_t offset) const {
    const uint64_t below = bits[offset / 64] & ((uint64_t{1} << (offset % 64)) - 1);
    return rank[offset / 64] + static_cast<uint32_t>(std::popcount(below));
  }
};

class Cutter {
 public:
  explicit Cutter(const NodeSource& source) : source_(source), node_count_(source.node_count()) {
    pages_.resize((uint64_t{node_count_} + kNodePageRows - 1) / kNodePageRows);
  }

  base::Result<void> Mark(std::span<const uint32_t> nodes) {
    PageOf(0).Mark(0);
    for (const uint32_t node : nodes) {
      if (node >= node_count_)
        return base::Error(base::ErrorCode::kCorrupt,
                           "there is no node " + std::to_string(node) + " in the trie");
      PageOf(node).Mark(node % kNodePageRows);
    }
    return {};
  }

  // A parent has a smaller number than its child, so one way from the last node to the first
  // reaches all callers.
  base::Result<void> Climb() {
    for (size_t i = pages_.size(); i-- > 0;) {
      if (pages_[i] == nullptr) continue;
      ASSIGN_OR_RETURN(pages_[i]->page, source_.node_page(static_cast<uint32_t>(i)));
      const NeededPage& page = *pages_[i];
      for (uint32_t word = kWords; word-- > 0;) {
        // Bits may come up below the one that is looked at, never above it.
        for (uint64_t done = 0; (page.bits[word] & ~done) != 0;) {
          const auto bit = static_cast<uint32_t>(std::bit_width(page.bits[word] & ~done)) - 1;
          done |= uint64_t{1} << bit;
          const uint32_t offset = word * 64 + bit;
          const uint32_t parent = page.page.nodes[offset].parent;
          PageOf(parent).Mark(parent % kNodePageRows);
        }
      }
    }
    return {};
  }

  void Number() {
    for (const auto& page : pages_) {
      if (page == nullptr) continue;
      for (uint32_t word = 0; word < kWords; ++word) {
        page->rank[word] = count_;
        count_ += static_cast<uint32_t>(std::popcount(page->bits[word]));
      }
    }
  }

  SubTrie Cut() {
    SubTrie trie;
    trie.node.reserve(count_);
    trie.parent.reserve(count_);
    trie.frame.reserve(count_);
    for (size_t i = 0; i < pages_.size(); ++i) {
      if (pages_[i] == nullptr) continue;
      const NeededPage& page = *pages_[i];
      for (uint32_t word = 0; word < kWords; ++word) {
        for (uint64_t bits = page.bits[word]; bits != 0; bits &= bits - 1) {
          const uint32_t offset = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
          const TrieNode node = page.page.nodes[offset];
          trie.node.push_back(static_cast<uint32_t>(i * kNodePageRows) + offset);
          trie.parent.push_back(Local(node.parent));
          trie.frame.push_back(node.frame);
        }
      }
    }
    return trie;
  }

  uint32_t Local(uint32_t node) { return PageOf(node).Local(node % kNodePageRows); }

 private:
  NeededPage& PageOf(uint32_t node) {
    auto& page = pages_[node / kNodePageRows];
    if (page == nullptr) page = std::make_unique<NeededPage>();
    return *page;
  }

  const NodeSource& source_;
  uint32_t node_count_;
  uint32_t count_ = 0;
  std::vector<std::unique_ptr<NeededPage>> pages_;
};

}  // namespace

base::Result<SubTrie> CutSubTrie(const NodeSource& source, std::span<const uint32_t> nodes,
                                 std::span<uint32_t> local) {
  CHECK(nodes.size() == local.size());
  Cutter cutter(source);
  RETURN_IF_ERROR(cutter.Mark(nodes));
  RETURN_IF_ERROR(cutter.Climb());
  cutter.Number();
  SubTrie trie = cutter.Cut();
  for (size_t i = 0; i < nodes.size(); ++i) local[i] = cutter.Local(nodes[i]);
  return trie;
}

}  // namespace vesta::store::index
