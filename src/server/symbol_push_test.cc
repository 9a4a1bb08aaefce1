#include "src/server/symbol_push.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/json_reader.h"
#include "src/store/memory/memory_store.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/zstd.h"

namespace vesta::server {
namespace {

constexpr int64_t kNow = 1'796'000'000'000;

// The place at 32 of one image; "" = without a name.
profile::LocationId AddPlace(const std::string& name, profile::Profile* profile) {
  profile::Mapping mapping;
  mapping.path = profile->InternString("/bin/shop");
  mapping.build_id = profile->InternString("abcd");
  const auto mapping_id = profile->AddMapping(mapping);
  std::vector<profile::Line> lines;
  if (!name.empty()) {
    const auto text = profile->InternString(name);
    lines.push_back({profile->AddFunction({text, text, {}, 0}), 7, 0});
  }
  return profile->AddLocation({mapping_id, 32, false, lines});
}

std::string Samples() {
  profile::Profile profile;
  batch::Batch batch;
  batch.profile = &profile;
  batch.types = {{"cpu", "nanoseconds", "", "", ""}};
  batch.series = {{{"service.name", "shop"}}};
  batch.tasks = {{10, 11, "worker"}};
  const auto stack = profile.InternStack(std::vector{AddPlace("", &profile)});
  batch.rows = {{.stack = stack, .time_unix_ms = kNow - 60'000, .value = 10, .count = 1}};
  return wire::EncodeOtlp(batch, {});
}

std::string Symbols(const std::string& name, uint64_t sequence) {
  profile::Profile profile;
  batch::SymbolBatch symbols;
  symbols.id = batch::BatchId{"agent", "boot", sequence};
  symbols.profile = &profile;
  symbols.locations = {AddPlace(name, &profile)};
  return wire::EncodeOtlpSymbols(symbols);
}

class SymbolPushTest : public testing::Test {
 protected:
  Response Post(const std::string& path, std::string body, std::vector<Parameter> headers = {}) {
    Request request;
    request.method = "POST";
    request.path = path;
    request.headers = std::move(headers);
    request.body = std::move(body);
    return api_.Answer(request);
  }
  std::string Get(const std::string& target) {
    const auto parsed = ParseTarget(target);
    Request request;
    request.method = "GET";
    request.path = parsed->path;
    request.parameters = parsed->parameters;
    return api_.Answer(request).body;
  }
  static uint64_t Number(const Response& response, const char* key) {
    const auto json = base::ParseJson(response.body);
    EXPECT_TRUE(json.ok()) << response.body;
    const base::JsonValue* value = json.ok() ? json->Find(key) : nullptr;
    return value == nullptr ? UINT64_MAX : value->AsUint().value_or(UINT64_MAX);
  }

  store::MemoryStore store_{store::MemoryStoreOptions{.now_unix_ms = [] { return kNow; }}};
  Api api_{store_, {.body_bytes_max = 1 << 20, .plain_bytes_max = 4 << 20, .now_unix_ms = [] {
                      return kNow;
                    }}};
};

TEST_F(SymbolPushTest, ALateNameIsInTheNextAnswer) {
  ASSERT_EQ(Post("/v1development/profiles", Samples()).status, 200);
  const std::string top = "/api/v1/top?query=cpu&from=-5m&format=text";
  EXPECT_EQ(Get(top).find("checkout"), std::string::npos);
  const Response told = Post("/api/v1/symbols", Symbols("checkout", 1));
  ASSERT_EQ(told.status, 200) << told.body;
  EXPECT_EQ(Number(told, "locations_received"), 1u);
  EXPECT_EQ(Number(told, "locations_kept"), 1u);
  EXPECT_NE(Get(top).find("checkout"), std::string::npos);
}

TEST_F(SymbolPushTest, WhatComesAgainChangesNothing) {
  Post("/api/v1/symbols", Symbols("old", 1));
  Post("/api/v1/symbols", Symbols("new", 2));
  const Response again =
      Post("/api/v1/symbols", wire::Zstd(Symbols("old", 1), 1), {{"content-encoding", "zstd"}});
  ASSERT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(Number(again, "locations_unchanged"), 1u);
  EXPECT_NE(Get("/api/v1/status").find(R"("symbols":{"places":1,"locations_received":3)"),
            std::string::npos);
  const std::string metrics = Get("/metrics");
  EXPECT_NE(metrics.find("\nvesta_symbols_received_total 3\n"), std::string::npos);
  EXPECT_NE(metrics.find("\nvesta_symbols_kept_total 2\n"), std::string::npos);
  EXPECT_NE(metrics.find("\nvesta_symbol_places 1\n"), std::string::npos);
}

TEST_F(SymbolPushTest, PlacesWithoutANameAreToldAndCounted) {
  const Response response = Post("/api/v1/symbols", Symbols("", 1));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Number(response, "locations_received"), 1u);
  EXPECT_EQ(Number(response, "locations_rejected"), 1u);
  EXPECT_NE(response.body.find("it has no name"), std::string::npos);
  EXPECT_NE(Get("/metrics").find("\nvesta_symbols_dropped_total{reason=\"rejected\"} 1\n"),
            std::string::npos);
}

TEST_F(SymbolPushTest, RefusesWhatIsNone) {
  EXPECT_EQ(Post("/api/v1/symbols", Samples()).status, 400);
  EXPECT_EQ(Post("/api/v1/symbols", "\xff\xff").status, 400);
  EXPECT_EQ(Post("/api/v1/symbols", "{}", {{"content-type", "application/json"}}).status, 415);
  EXPECT_EQ(Post("/api/v1/symbols", std::string((1 << 20) + 1, 'x')).status, 413);
  EXPECT_EQ(Post("/api/v1/symbols", "x", {{"content-encoding", "br"}}).status, 415);
}

}  // namespace
}  // namespace vesta::server
