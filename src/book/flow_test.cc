#include "src/book/flow.h"

#include <gtest/gtest.h>

#include "src/base/json_reader.h"

namespace vesta::book {
namespace {

Book Example() {
  Book book;
  book.stages = {{"kernel", 100, {{"idle", 60}, {"opted_out", 5}}, 34, {{"ring_full", 1}}},
                 {"agent", 32, {{"opted_out", 2}}, 30, {}},
                 {"queue", 30, {}, 29, {{"queue_full", 1}}},
                 {"spool", 27, {}, 26, {{"age", 1}}}};
  book.details = {{"ring_waiting", 2},
                  {"queue_waiting", 6},
                  {"spool_found", 4},
                  {"spool_acknowledged", 20},
                  {"spool_waiting", 6}};
  return book;
}

ServerCounts Counts() {
  ServerCounts counts;
  counts.received = 30;
  counts.kept = 24;
  counts.duplicate = 3;
  counts.empty = 1;
  counts.dropped = 2;
  counts.is_compared = true;
  counts.acknowledged = 20;
  counts.taken = 20;
  counts.store_received = 50;
  counts.store_kept = 40;
  counts.store_duplicate = 7;
  counts.store_dropped = 3;
  counts.store_rows = 30;
  counts.store_expired = 9;
  counts.store_quarantined = 1;
  return counts;
}

// The steps that do not balance.
std::string Wrong(const std::vector<FlowLine>& flow) {
  std::string steps;
  for (const FlowLine& line : flow) {
    if (!line.Balances()) steps += "[" + line.step + "]";
  }
  return steps;
}

TEST(FlowTest, OfAnAgentHasEachStageAndWhatIsBetween) {
  const auto flow = FlowOfAgent(Example());
  std::string steps;
  for (const FlowLine& line : flow) steps += "[" + line.step + "]";
  EXPECT_EQ(steps,
            "[kernel][kernel > agent][agent][agent > queue][queue][queue > spool][spool]"
            "[spool > server]");
  EXPECT_EQ(Wrong(flow), "");
  EXPECT_EQ(flow[5].note, "6 in the queue, 4 found on disk at the start");
}

TEST(FlowTest, EachNumberThatIsWrongIsSeenWhereItIs) {
  const auto wrong_with = [](auto change) {
    Book book = Example();
    change(book);
    return Wrong(FlowOfAgent(book));
  };
  EXPECT_EQ(wrong_with([](Book& book) { ++book.stages[0].received; }), "[kernel]");
  EXPECT_EQ(wrong_with([](Book& book) { --book.stages[0].excluded[1].second; }), "[kernel]");
  EXPECT_EQ(wrong_with([](Book& book) { --book.details[0].second; }), "[kernel > agent]");
  EXPECT_EQ(wrong_with([](Book& book) { ++book.stages[1].kept; }), "[agent][agent > queue]");
  EXPECT_EQ(wrong_with([](Book& book) { ++book.details[2].second; }), "[queue > spool]");
  EXPECT_EQ(wrong_with([](Book& book) { book.stages[3].dropped.clear(); }), "[spool]");
  EXPECT_EQ(wrong_with([](Book& book) { --book.details[3].second; }), "[spool > server]");
}

TEST(FlowTest, ABookOfARecordingEndsWithItsLastStage) {
  Book book = Example();
  book.stages.resize(2);
  EXPECT_EQ(FlowOfAgent(book).size(), 3u);
}

TEST(FlowTest, WhatAServerAcknowledgedItHasCountedOnce) {
  EXPECT_EQ(Wrong(FlowOfServer(Counts())), "");
  const auto wrong_with = [](auto change) {
    ServerCounts counts = Counts();
    change(counts);
    return Wrong(FlowOfServer(counts));
  };
  EXPECT_EQ(wrong_with([](ServerCounts& counts) { --counts.taken; }), "[agent > server]");
  EXPECT_EQ(wrong_with([](ServerCounts& counts) { ++counts.taken; }), "[agent > server]");
  // An answer that was lost, and the batch that came again.
  EXPECT_EQ(wrong_with([](ServerCounts& counts) { counts.taken += counts.waiting = 5; }), "");
  EXPECT_EQ(wrong_with([](ServerCounts& counts) {
              counts.taken = 15;
              counts.taken_again = 5;
            }),
            "");
  EXPECT_EQ(wrong_with([](ServerCounts& counts) { ++counts.received; }), "[server]");
  EXPECT_EQ(wrong_with([](ServerCounts& counts) { ++counts.store_received; }), "[store]");
  EXPECT_EQ(wrong_with([](ServerCounts& counts) { --counts.store_rows; }), "[store > files]");
  EXPECT_EQ(wrong_with([](ServerCounts& counts) {
              counts.is_compared = false;
              counts.taken = 0;
            }),
            "");
}

TEST(FlowTest, TextAndJsonSayWhatIsWrong) {
  Book book = Example();
  book.stages[0].received += 3;
  const std::string text = FlowText(FlowOfAgent(book));
  EXPECT_NE(text.find("  kernel            103  DOES NOT BALANCE: 3 missing, please report this\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  kernel > agent    34  balances (2 in the ring)\n"), std::string::npos)
      << text;
  ++book.stages[1].kept;
  EXPECT_NE(FlowText(FlowOfAgent(book)).find("1 too many"), std::string::npos);
  base::JsonWriter writer;
  WriteFlow(FlowOfAgent(book), writer);
  const auto json = base::ParseJson(writer.Take());
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->items()[0].Find("balances")->AsBool(), false);
  EXPECT_EQ(json->items()[0].Find("came")->AsUint(), 103u);
  EXPECT_EQ(json->items()[1].Find("balances")->AsBool(), true);
}

}  // namespace
}  // namespace vesta::book
