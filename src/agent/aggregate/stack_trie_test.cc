#include "src/agent/aggregate/stack_trie.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

namespace vesta::agent::aggregate {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

profile::Frame FrameAt(uint64_t address) {
  return {address, profile::ImageId(3), profile::FrameKind::kNative, false};
}

std::vector<profile::Frame> FramesOf(const StackTrie& trie, NodeId node) {
  std::vector<profile::Frame> leaf_first;
  for (; node != StackTrie::kRoot; node = trie.parent(node)) leaf_first.push_back(trie.frame(node));
  return leaf_first;
}

TEST(StackTrieTest, SharesCallersAndKeepsLeafFirstOrder) {
  StackTrie trie;
  const std::vector<profile::Frame> one{FrameAt(1), FrameAt(2), FrameAt(3)};
  const std::vector<profile::Frame> two{FrameAt(9), FrameAt(2), FrameAt(3)};
  const NodeId a = trie.Intern(one, kNoLimit);
  const NodeId b = trie.Intern(two, kNoLimit);
  EXPECT_NE(a, b);
  EXPECT_EQ(trie.parent(a), trie.parent(b));
  EXPECT_EQ(FramesOf(trie, a), one);
  EXPECT_EQ(FramesOf(trie, b), two);
  EXPECT_EQ(trie.node_count(), 5u);  // the root, 3, 2, 1, 9
}

TEST(StackTrieTest, TellsKindsAndInterruptedFramesApart) {
  StackTrie trie;
  profile::Frame native = FrameAt(7);
  profile::Frame kernel = native;
  kernel.kind = profile::FrameKind::kKernel;
  profile::Frame interrupted = native;
  interrupted.interrupted = true;
  const NodeId a = trie.Intern(std::vector{native}, kNoLimit);
  EXPECT_NE(a, trie.Intern(std::vector{kernel}, kNoLimit));
  EXPECT_NE(a, trie.Intern(std::vector{interrupted}, kNoLimit));
  EXPECT_EQ(a, trie.Intern(std::vector{native}, kNoLimit));
}

TEST(StackTrieTest, EqualsAMapOverRandomStacks) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  StackTrie trie;
  std::map<std::vector<uint64_t>, NodeId> reference;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint64_t> addresses(random() % 12);
    for (uint64_t& address : addresses) address = random() % 5;
    std::vector<profile::Frame> frames;
    for (const uint64_t address : addresses) frames.push_back(FrameAt(address));
    const NodeId node = trie.Intern(frames, kNoLimit);
    const auto [entry, is_new] = reference.emplace(addresses, node);
    ASSERT_EQ(entry->second, node);
    ASSERT_EQ(FramesOf(trie, node), frames);
  }
}

TEST(StackTrieTest, RefusesNewStacksAtTheLimitButKnowsOldOnes) {
  StackTrie trie;
  const NodeId known = trie.Intern(std::vector{FrameAt(1)}, kNoLimit);
  EXPECT_EQ(trie.Intern(std::vector{FrameAt(2)}, 0), StackTrie::kRoot);
  EXPECT_EQ(trie.Intern(std::vector{FrameAt(1)}, 0), known);
}

}  // namespace
}  // namespace vesta::agent::aggregate
