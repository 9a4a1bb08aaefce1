#include "src/store/index/node_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/store/index/dictionary.h"
#include "src/store/index/index_file.h"
#include "src/store/index/index_writer.h"
#include "src/store/index/rollup_for_test.h"

namespace vesta::store::index {
namespace {

TEST(NodeOrder, WhatANodeCallsStandsBehindIt) {
  Dictionary dictionary;
  const uint32_t frame = dictionary.InternFrame(0, 1, false, {});
  const uint32_t other = dictionary.InternFrame(0, 2, false, {});
  const uint32_t a = dictionary.InternNode(0, frame);
  const uint32_t b = dictionary.InternNode(0, other);
  const uint32_t a_calls = dictionary.InternNode(a, frame);
  const uint32_t b_calls = dictionary.InternNode(b, frame);
  const uint32_t a_calls_more = dictionary.InternNode(a, other);
  const NodeOrder order = WalkOrder(dictionary);
  EXPECT_EQ(order.node, (std::vector<uint32_t>{0, a, a_calls, a_calls_more, b, b_calls}));
  EXPECT_EQ(order.number, (std::vector<uint32_t>{0, 1, 4, 2, 5, 3}));
}

TEST(NodeOrder, OfAnyTrieIsAWalk) {
  const TestVolume volume(11, 3000);
  const Dictionary& dictionary = volume.dictionary;
  const NodeOrder order = WalkOrder(dictionary);
  ASSERT_EQ(order.node.size(), dictionary.node_count());
  for (uint32_t place = 1; place < order.node.size(); ++place) {
    const uint32_t node = order.node[place];
    EXPECT_EQ(order.number[node], place);
    // The parent is among the callers of the node before, or is that one.
    uint32_t above = order.node[place - 1];
    while (above != 0 && above != dictionary.node(node).parent)
      above = dictionary.node(above).parent;
    EXPECT_EQ(above, dictionary.node(node).parent);
  }
}

TEST(NodeOrder, AnIndexFileHasTheSameStacksUnderTheirNewNumbers) {
  const TestVolume volume(12, 3000);
  const Dictionary& dictionary = volume.dictionary;
  const NodeOrder order = WalkOrder(dictionary);
  IndexWriter writer;
  writer.AddDictionary(dictionary, &order);
  const std::vector<std::byte> bytes = writer.Finish();
  const IndexFile file = IndexFile::Open(bytes, nullptr).value();
  ASSERT_TRUE(file.CheckAll().ok());
  const VolumeReader reader(file);
  for (uint32_t page = 0; page * kNodePageRows < dictionary.node_count(); ++page) {
    const NodePage nodes = reader.node_page(page).value();
    for (uint32_t i = 0; i < nodes.nodes.size(); ++i) {
      const TrieNode old = dictionary.node(order.node[page * kNodePageRows + i]);
      EXPECT_EQ(nodes.nodes[i].frame, old.frame);
      EXPECT_EQ(nodes.nodes[i].parent, order.number[old.parent]);
    }
  }
}

TEST(NodeOrder, RollupsTakeTheNewNumbers) {
  SeriesRollup rollup;
  rollup.summary = {.type = 1, .series = 2};
  rollup.stacks = {{.node = 1, .value = 10, .count = 1}, {.node = 2, .value = 20, .count = 2}};
  rollup.functions = {{.callable = 7, .self = 1}};
  IdMaps maps;
  maps.nodes = {0, 2, 1};
  RemapRollup(maps, &rollup);
  EXPECT_EQ(rollup.stacks, (std::vector<StackTotal>{{.node = 1, .value = 20, .count = 2},
                                                    {.node = 2, .value = 10, .count = 1}}));
  EXPECT_EQ(rollup.summary.series, 2u) << "what has no map stays";
  EXPECT_EQ(rollup.functions[0].callable, 7u);
}

}  // namespace
}  // namespace vesta::store::index
