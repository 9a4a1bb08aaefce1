#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "src/flame/stack_tree.h"
#include "test/support/synthetic_profile.h"

namespace vesta::flame {
namespace {

struct Node {
  std::vector<int64_t> self;
  std::vector<int64_t> total;
  std::vector<int64_t> children;  // their totals
};
// A node's path of names, images, files and kinds tells it apart.
using Nodes = std::map<std::string, Node>;

Nodes NodesOf(const StackTree& tree) {
  Nodes nodes;
  std::vector<std::vector<int64_t>> totals;
  for (size_t column = 0; column < tree.self.size(); ++column)
    totals.push_back(NodeTotals(tree, column));
  std::vector<std::string> path;
  for (size_t i = 0; i < tree.node_count(); ++i) {
    path.resize(tree.depth[i]);
    const TreeFunction& row = tree.functions[tree.function[i]];
    path.push_back((path.empty() ? "" : path.back()) + '\n' + tree.strings[row.name] + '\t' +
                   tree.strings[row.image] + '\t' + tree.strings[row.file] + '\t' +
                   std::to_string(static_cast<int>(row.kind)));
    Node node;
    for (size_t column = 0; column < tree.self.size(); ++column) {
      node.self.push_back(tree.self[column][i]);
      node.total.push_back(totals[column][i]);
    }
    node.children.resize(tree.self.size());
    EXPECT_TRUE(nodes.emplace(path.back(), node).second) << path.back();
    if (path.size() < 2) continue;
    for (size_t column = 0; column < tree.self.size(); ++column)
      nodes[path[path.size() - 2]].children[column] += node.total[column];
  }
  return nodes;
}

bool IsRest(const std::string& path) {
  return path.substr(path.rfind('\n') + 1) == std::string(kRestName) + "\t\t\t4";
}

StackTree TreeOf(const std::vector<profile::Profile>& profiles) {
  std::vector<TreeInput> inputs;
  for (const auto& profile : profiles) inputs.push_back({&profile, "a"});
  auto tree = MakeStackTree(inputs);
  EXPECT_TRUE(tree.ok());
  return std::move(*tree);
}

void ExpectExactCut(const StackTree& whole, size_t nodes_max) {
  StackTree cut = whole;
  CutTree(nodes_max, cut);
  EXPECT_LE(cut.node_count(), std::max<size_t>(nodes_max, 2));
  const Nodes before = NodesOf(whole);
  for (const auto& [path, node] : NodesOf(cut)) {
    for (size_t column = 0; column < node.self.size(); ++column)
      EXPECT_EQ(node.total[column], node.self[column] + node.children[column]) << path;
    if (IsRest(path)) continue;
    const auto same = before.find(path);
    ASSERT_NE(same, before.end()) << path;
    EXPECT_EQ(same->second.self, node.self) << path;
    EXPECT_EQ(same->second.total, node.total) << path;
  }
}

TEST(CutTreeTest, WhatIsLeftKeepsItsValuesAndTheRestIsExact) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    std::vector<profile::Profile> one;
    one.push_back(test::SyntheticProfile({.seed = seed, .samples = 60}));
    const StackTree tree = TreeOf(one);
    for (const size_t nodes_max : {size_t{2}, size_t{3}, size_t{17}, tree.node_count() / 2,
                                   tree.node_count() - 1, tree.node_count()})
      ExpectExactCut(tree, nodes_max);
    std::vector<profile::Profile> two;
    for (const uint64_t side : {seed, seed + 100})
      two.push_back(test::SyntheticProfile({.seed = side, .samples = 60, .odd_content = false}));
    ExpectExactCut(TreeOf(two), 20);
  }
}

TEST(CutTreeTest, TheLargestNodesStay) {
  profile::Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  const auto add = [&](std::string_view name, int64_t value) {
    const profile::Line line{profile.InternFunction({profile.InternString(name), {}, {}, 0})};
    const auto location = profile.InternLocation({.lines = {&line, 1}});
    profile.AddSample(profile.InternStack({&location, 1}), {}, {{value}});
  };
  add("small", 1);
  add("large", 100);
  add("medium", 50);
  add("tiny", 1);
  const TreeInput input{&profile, "a"};
  StackTree tree = *MakeStackTree({&input, 1});
  CutTree(4, tree);
  ASSERT_EQ(tree.node_count(), 4u);
  std::map<std::string, int64_t> self;
  for (size_t i = 0; i < 4; ++i) self[tree.name(tree.function[i])] = tree.self[0][i];
  EXPECT_EQ(self, (std::map<std::string, int64_t>{
                      {"all", 0}, {"large", 100}, {"medium", 50}, {"[rest]", 2}}));
  EXPECT_EQ(tree.functions.size(), 4u) << "no function is left that no node has";
}

}  // namespace
}  // namespace vesta::flame
