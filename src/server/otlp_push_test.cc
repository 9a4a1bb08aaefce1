#include "src/server/otlp_push.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "src/base/json_reader.h"
#include "src/book/book.h"
#include "src/store/memory/memory_store.h"
#include "src/wire/gzip.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/otlp_response.h"
#include "src/wire/zstd.h"

namespace vesta::server {
namespace {

constexpr int64_t kNow = 1'796'000'000'000;
constexpr int64_t kPeriodNs = 10'000'000;

// `samples` samples of one stack, a second apart.
std::string Message(uint64_t sequence, int samples, int64_t first_unix_ms = kNow - 60'000) {
  profile::Profile profile;
  profile.header().period_type = profile.InternValueType("cpu", "nanoseconds");
  profile.header().period = kPeriodNs;
  const auto name = profile.InternString("parse");
  const profile::Line line{profile.AddFunction({name, name, {}, 0}), 7, 0};
  const auto location = profile.AddLocation({.address = 0, .lines = {&line, 1}});
  batch::Batch batch;
  batch.id = batch::BatchId{"agent1", "boot1", sequence};
  batch.profile = &profile;
  batch.types = {{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"}};
  batch.series = {{{"service.name", "shop"}}};
  batch.tasks = {{10, 11, "worker"}};
  const auto stack = profile.InternStack(std::vector{location});
  for (int i = 0; i < samples; ++i) {
    batch.rows.push_back(
        {.stack = stack, .time_unix_ms = first_unix_ms + i * 1000, .value = kPeriodNs, .count = 1});
  }
  book::Book book;
  book.duration_ns = sequence;
  book.stages = {{"kernel", 100, {{"idle", 90}}, 10, {}}};
  return wire::EncodeOtlp(batch, {.scope_version = "9", .book = book::BookToJson(book)});
}

class OtlpPushTest : public testing::Test {
 protected:
  Response Push(std::string body,
                std::vector<Parameter> headers = {{"content-type", "application/x-protobuf"}}) {
    Request request;
    request.method = "POST";
    request.path = "/v1development/profiles";
    request.headers = std::move(headers);
    request.body = std::move(body);
    return api_.Answer(request);
  }
  Response Get(const std::string& target) {
    const auto parsed = ParseTarget(target);
    Request request;
    request.method = "GET";
    request.path = parsed->path;
    request.parameters = parsed->parameters;
    return api_.Answer(request);
  }
  int64_t Rows() { return static_cast<int64_t>(store_.Status().rows); }

  store::MemoryStore store_{store::MemoryStoreOptions{.now_unix_ms = [] { return kNow; }}};
  Api api_{store_, {.body_bytes_max = 1 << 20, .plain_bytes_max = 4 << 20, .now_unix_ms = [] {
                      return kNow;
                    }}};
};

TEST_F(OtlpPushTest, SamplesAreStoredAndTheAgentIsKnown) {
  const Response response = Push(Message(1, 3));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.content_type, "application/x-protobuf");
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(Rows(), 3);
  const auto top = Get("/api/v1/top?query=cpu&from=-5m&format=text");
  EXPECT_NE(top.body.find("parse"), std::string::npos) << top.body;
  const auto agents = base::ParseJson(Get("/api/v1/agents").body);
  const base::JsonValue& agent = agents->Find("agents")->items()[0];
  EXPECT_EQ(*agent.Find("agent")->AsString(), "agent1");
  EXPECT_EQ(agent.Find("rows")->Find("kept")->AsUint(), 3u);
  EXPECT_EQ(agent.Find("book")->Find("stages")->items()[0].Find("kept")->AsUint(), 10u);
  const std::string metrics = Get("/metrics").body;
  EXPECT_NE(metrics.find("vesta_otlp_rows_kept_total 3\n"), std::string::npos);
  EXPECT_NE(metrics.find("vesta_agent_samples_total{agent=\"agent1\",stage=\"kernel\",outcome="
                         "\"excluded\",reason=\"idle\"} 90\n"),
            std::string::npos)
      << metrics;
}

TEST_F(OtlpPushTest, ABatchCountsOnceAndItsAgentSeesNoDifference) {
  ASSERT_EQ(Push(Message(1, 3)).status, 200);
  const Response again = Push(Message(1, 3));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(Rows(), 3);
  EXPECT_EQ(api_.senders().List()[0].rows.duplicate, 3u);
}

TEST_F(OtlpPushTest, IsUnpackedAgainstAnEarlierBatch) {
  const std::string first = Message(1, 3);
  const std::string second = Message(2, 4);
  const auto headers = [](const std::string& dictionary) {
    return std::vector<Parameter>{{"content-type", "application/x-protobuf"},
                                  {"content-encoding", "zstd"},
                                  {"vesta-dictionary", dictionary}};
  };
  const std::string packed = wire::Zstd(second, 3, first);
  const Response unknown = Push(packed, headers("agent1/boot1/1"));
  EXPECT_EQ(unknown.status, 409);
  EXPECT_NE(unknown.body.find("\"dictionary_unknown\""), std::string::npos);
  const Response taken = Push(wire::Zstd(first), {{"content-encoding", "zstd"}});
  ASSERT_EQ(taken.status, 200);
  ASSERT_EQ(taken.headers.size(), 1u);
  EXPECT_EQ(taken.headers[0], (Parameter{"Vesta-Dictionary", std::to_string(4 << 20)}));
  EXPECT_EQ(Push(packed, headers("agent1/boot1/1")).status, 200);
  EXPECT_EQ(Rows(), 7);
  EXPECT_EQ(Push(packed, headers("agent1/boot1/2")).status, 400) << "packed against another one";
  for (size_t size = 0; size < packed.size(); size += 7) {
    EXPECT_EQ(Push(packed.substr(0, size), headers("agent1/boot1/1")).status, 400) << size;
  }
  const std::string bomb = wire::Zstd(first + std::string(5 << 20, '\0'), 3, first);
  EXPECT_EQ(Push(bomb, headers("agent1/boot1/1")).status, 413);
  EXPECT_EQ(Push(packed, headers("agent1/boot1/1")).status, 200) << "it is still there";
}

TEST_F(OtlpPushTest, OnlyWhoNamesHisBatchesIsToldThatTheyAreKept) {
  EXPECT_TRUE(Push("").headers.empty());
  EXPECT_TRUE(Push("garbage").headers.empty());
}

TEST_F(OtlpPushTest, WhatCannotBeStoredIsToldToTheSender) {
  const Response response = Push(Message(1, 2, kNow + 3 * 86'400'000));
  ASSERT_EQ(response.status, 200);
  const auto told = wire::DecodeOtlpResponse(response.body);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->rejected, 2);
  EXPECT_NE(told->message.find("ahead of the server's clock"), std::string::npos);
  const SenderBook rows = api_.senders().List()[0].rows;
  EXPECT_EQ(rows.received, 2u);
  EXPECT_EQ(rows.too_new, 2u);
}

TEST_F(OtlpPushTest, AMessageWithoutSamplesCarriesTheBook) {
  ASSERT_EQ(Push(Message(1, 0)).status, 200);
  EXPECT_EQ(Rows(), 0);
  EXPECT_TRUE(api_.senders().List()[0].book.has_value());
  EXPECT_EQ(Push("").status, 200) << "as OTLP has it, an empty request is a request";
}

TEST_F(OtlpPushTest, RefusesWhatIsNone) {
  EXPECT_EQ(Push("{}", {{"content-type", "application/json"}}).status, 415);
  EXPECT_EQ(Push("\x0a\xff garbage").status, 400);
  EXPECT_EQ(Push(std::string((1 << 20) + 1, '\0')).status, 413);
  EXPECT_EQ(Push(wire::Zstd(std::string(5 << 20, '\0')), {{"content-encoding", "zstd"}}).status,
            413);
  EXPECT_EQ(Rows(), 0);
}

}  // namespace
}  // namespace vesta::server
