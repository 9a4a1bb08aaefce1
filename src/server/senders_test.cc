#include "src/server/senders.h"

#include <gtest/gtest.h>

#include "src/base/json_reader.h"

namespace vesta::server {
namespace {

store::BatchId Id(const std::string& agent, uint64_t sequence, const std::string& boot = "b1") {
  return {agent, boot, sequence};
}

Received From(const std::string& agent, uint64_t kept, int64_t now_unix_ms) {
  Received received;
  received.id = Id(agent, 1);
  received.rows.batches = 1;
  received.rows.received = kept;
  received.rows.kept = kept;
  received.now_unix_ms = now_unix_ms;
  return received;
}

std::string BookOf(uint64_t duration_ns, uint64_t received) {
  book::Book book;
  book.duration_ns = duration_ns;
  book.stages = {{"kernel", received, {}, received, {}}};
  return book::BookToJson(book);
}

TEST(SendersTest, RowsOfAnAgentAddUpAndOthersAreOne) {
  Senders senders;
  senders.Note(From("a", 3, 100));
  senders.Note(From("a", 4, 200));
  Received foreign = From("", 5, 300);
  foreign.id = std::nullopt;
  senders.Note(foreign);
  const auto list = senders.List();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].agent, "");
  EXPECT_EQ(list[0].rows.kept, 5u);
  EXPECT_EQ(list[1].rows.kept, 7u);
  EXPECT_EQ(list[1].rows.batches, 2u);
  EXPECT_EQ(list[1].first_seen_unix_ms, 100);
  EXPECT_EQ(list[1].last_seen_unix_ms, 200);
}

TEST(SendersTest, TheNewestBookIsKeptWhateverTheSpoolBringsLater) {
  Senders senders;
  const auto note = [&](const std::string& boot, int64_t said_unix_ns, const std::string& book) {
    Received received = From("a", 1, 100);
    received.id = Id("a", 1, boot);
    received.facts.clock = wire::ClockPair{1, said_unix_ns, 1};
    received.facts.book = book;
    senders.Note(received);
    return senders.List()[0].book->stages[0].received;
  };
  EXPECT_EQ(note("b1", 20, BookOf(2, 2)), 2u);
  EXPECT_EQ(note("b1", 10, BookOf(1, 1)), 2u);
  EXPECT_EQ(note("b2", 30, BookOf(1, 9)), 9u);  // started again
  EXPECT_EQ(note("b1", 25, BookOf(3, 3)), 9u);
  EXPECT_EQ(senders.List()[0].boot, "b2");
  EXPECT_EQ(note("b2", 40, "{\"stages\":"), 9u);  // damaged
  EXPECT_EQ(senders.List()[0].rows.batches, 5u);
}

TEST(SendersTest, TheOneThatWasSilentLongestMakesRoomAndItsRowsStayCounted) {
  Senders senders({.senders_max = 2});
  senders.Note(From("a", 1, 100));
  senders.Note(From("b", 2, 200));
  senders.Note(From("a", 1, 300));
  senders.Note(From("c", 4, 400));
  uint64_t kept = 0;
  std::string agents;
  for (const Sender& sender : senders.List()) {
    kept += sender.rows.kept;
    agents += "[" + sender.agent + "]";
  }
  EXPECT_EQ(agents, "[][a][c]");
  EXPECT_EQ(kept, 8u);
}

TEST(SendersTest, OfEachAgentTwoBodiesAreThereWhileThereIsRoom) {
  Senders senders({.body_bytes_max = 10, .bodies_bytes_max = 20});
  const auto keep = [&](const char* agent, uint64_t sequence, const char* plain) {
    return senders.KeepBody(Id(agent, sequence), plain, 100);
  };
  EXPECT_EQ(keep("a", 1, "1111"), 10u);
  keep("a", 2, "2222");
  keep("a", 3, "3333");
  EXPECT_EQ(senders.BodyOf("a/b1/1"), nullptr);
  ASSERT_NE(senders.BodyOf("a/b1/2"), nullptr);
  // Now 3 is the one that was of no use for longer.
  keep("a", 4, "4444");
  EXPECT_EQ(senders.BodyOf("a/b1/3"), nullptr);
  EXPECT_NE(senders.BodyOf("a/b1/2"), nullptr);
  ASSERT_NE(senders.BodyOf("a/b1/4"), nullptr);
  keep("a", 4, "written otherwise");
  EXPECT_EQ(senders.BodyOf("a/b1/4"), nullptr) << "too large, and no longer what it was";
  keep("a", 2, "22");
  EXPECT_EQ(*senders.BodyOf("a/b1/2"), "22");
  keep("b", 1, "1111111111");
  keep("b", 2, "2222222222");  // the oldest of all goes
  EXPECT_EQ(senders.BodyOf("a/b1/2"), nullptr);
  EXPECT_NE(senders.BodyOf("b/b1/1"), nullptr);
}

TEST(SendersTest, WhereManyAreActiveEachHasRoomForLess) {
  Senders senders({.body_bytes_max = 10, .bodies_bytes_max = 24});
  for (const char* agent : {"a", "b", "c"}) senders.Note(From(agent, 1, 1'000'000));
  EXPECT_EQ(senders.KeepBody(Id("a", 1), "12345", 1'000'000), 4u);
  EXPECT_EQ(senders.BodyOf("a/b1/1"), nullptr);
  EXPECT_EQ(senders.KeepBody(Id("a", 2), "1234", 1'600'000), 4u);
  EXPECT_NE(senders.BodyOf("a/b1/2"), nullptr);
  EXPECT_EQ(senders.KeepBody(Id("a", 3), "1234567890", 1'600'001), 10u) << "the others are silent";
}

TEST(SendersTest, WhatAnAgentSaysWasTakenIsComparedFromItsFirstBookThatWeHeard) {
  Senders senders;
  int64_t said_unix_ns = 0;
  const auto note = [&](const std::string& boot, uint64_t acknowledged, uint64_t kept,
                        uint64_t duplicate) {
    Received received = From("a", kept, 100);
    received.id = Id("a", 1, boot);
    received.rows.duplicate = duplicate;
    received.facts.clock = wire::ClockPair{1, ++said_unix_ns, 1};
    book::Book book;
    book.details = {{"spool_acknowledged", acknowledged}, {"spool_waiting", 9}};
    received.facts.book = book::BookToJson(book);
    senders.Note(received);
    const auto json = base::ParseJson(SendersJson(senders.List()));
    const base::JsonValue* delivered = json->Find("agents")->items()[0].Find("delivered");
    std::string text;
    for (const char* key : {"acknowledged", "taken", "taken_again", "waiting"}) {
      text += std::to_string(*delivered->Find(key)->AsUint()) + " ";
    }
    return text;
  };
  EXPECT_EQ(note("b1", 1'000, 10, 0), "0 0 0 9 ");
  EXPECT_EQ(note("b1", 1'010, 20, 0), "10 10 0 9 ");
  EXPECT_EQ(note("b1", 1'030, 0, 7), "30 30 0 9 ");
  EXPECT_EQ(note("b1", 1'037, 5, 0), "37 30 7 9 ");
  EXPECT_EQ(note("b2", 0, 5, 0), "0 0 0 9 ") << "another life counts anew";
  EXPECT_EQ(note("b2", 4, 5, 0), "4 5 0 9 ");
}

TEST(SendersTest, JsonSaysAllOfIt) {
  Senders senders;
  Received received = From("a", 3, 1'000);
  received.facts.scope_version = "1.0";
  received.facts.clock = wire::ClockPair{1, 3'500 * 1'000'000ll, 1};
  received.facts.book = BookOf(1, 3);
  senders.Note(received);
  const auto json = base::ParseJson(SendersJson(senders.List()));
  ASSERT_TRUE(json.ok());
  const base::JsonValue& agent = json->Find("agents")->items()[0];
  EXPECT_EQ(*agent.Find("version")->AsString(), "1.0");
  EXPECT_EQ(agent.Find("clock_ahead_ms")->AsUint(), 2'500u);
  EXPECT_EQ(agent.Find("rows")->Find("kept")->AsUint(), 3u);
  EXPECT_EQ(agent.Find("book")->Find("stages")->items().size(), 1u);
}

}  // namespace
}  // namespace vesta::server
