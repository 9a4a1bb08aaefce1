#include "src/server/api.h"

#include <gtest/gtest.h>

#include <string>

#include "src/base/json_reader.h"
#include "src/server/push.h"
#include "src/server/routes.h"
#include "src/store/memory/memory_store.h"
#include "src/wire/gzip.h"
#include "src/wire/pprof_encoder.h"
#include "src/wire/profile_decoder.h"
#include "src/wire/tar.h"

namespace vesta::server {
namespace {

constexpr int64_t kNow = 1'796'000'000'000;

std::string Gzip(std::string_view bytes) {
  wire::GzipWriter writer(6);
  writer.Write(bytes);
  return writer.Finish();
}

// 10 ms per sample: 30 of main;parse and 20 of main;write.
std::string CpuProfile() {
  profile::Profile cpu;
  cpu.SetSampleTypes(
      {cpu.InternValueType("samples", "count"), cpu.InternValueType("cpu", "nanoseconds")});
  cpu.header().period_type = cpu.InternValueType("cpu", "nanoseconds");
  cpu.header().period = 10'000'000;
  cpu.header().time_unix_ns = (kNow - 60'000) * 1'000'000;
  const auto location = [&cpu](const char* name) {
    const profile::FunctionId function =
        cpu.AddFunction({cpu.InternString(name), cpu.InternString(name), {}, 0});
    const profile::Line line{function, 7, 0};
    return cpu.AddLocation({.address = 0, .lines = {&line, 1}});
  };
  const profile::LocationId main = location("main");
  const profile::LocationId parse = location("parse");
  const profile::LocationId write = location("write");
  const auto add = [&](profile::LocationId leaf, int64_t samples) {
    const profile::LocationId stack[] = {leaf, main};
    const int64_t values[] = {samples, samples * 10'000'000};
    cpu.AppendSample(cpu.InternStack(stack), {}, values);
  };
  add(parse, 30);
  add(write, 20);
  return wire::EncodePprof(cpu);
}

class ApiTest : public testing::Test {
 protected:
  static std::string HeaderOf(const Response& response, std::string_view name) {
    for (const Parameter& header : response.headers) {
      if (header.name == name) return header.value;
    }
    return "";
  }
  static ApiOptions Options() {
    return {.version = "1.2.3",
            .body_bytes_max = 1 << 20,
            .plain_bytes_max = 4 << 20,
            .now_unix_ms = [] { return kNow; }};
  }

  Response Push(std::string body, std::string_view target = "/api/v1/profiles?label.service=shop",
                std::vector<Parameter> headers = {}) {
    Request request = RequestOf("POST", target);
    request.body = std::move(body);
    request.headers = std::move(headers);
    return api_.Answer(request);
  }
  Response Get(std::string_view target, std::vector<Parameter> headers = {}) {
    Request request = RequestOf("GET", target);
    request.headers = std::move(headers);
    return api_.Answer(request);
  }
  static Request RequestOf(const char* method, std::string_view target) {
    auto parsed = ParseTarget(target);
    EXPECT_TRUE(parsed) << target;
    return {.method = method, .path = parsed->path, .parameters = parsed->parameters};
  }
  static bool HasFormat(const std::string& body, std::string_view format) {
    if (format == "json") return base::ParseJson(body).ok();
    if (format == "page") return body.starts_with("VSTP");
    if (format == "html") return body.starts_with("<!DOCTYPE html>");
    if (format == "pprof") return wire::DecodeProfile(body, "it").ok();
    return !body.empty() && body.find("<!DOCTYPE") == std::string::npos;
  }
  // A number of the answer; a missing one is a failure.
  static uint64_t Number(const Response& response, std::string_view key) {
    const auto json = base::ParseJson(response.body);
    const base::JsonValue* value = json.ok() ? json->Find(key) : nullptr;
    EXPECT_TRUE(value != nullptr && value->AsUint()) << key << " in " << response.body;
    return value != nullptr ? value->AsUint().value_or(0) : 0;
  }
  static std::string CodeOf(const Response& response) {
    const auto json = base::ParseJson(response.body);
    const base::JsonValue* error = json.ok() ? json->Find("error") : nullptr;
    const base::JsonValue* code = error != nullptr ? error->Find("code") : nullptr;
    return code != nullptr && code->AsString() != nullptr ? *code->AsString() : response.body;
  }

  void AskEachQuestionInEachFormat();

  store::MemoryStore store_;
  Api api_{store_, Options()};
};

TEST_F(ApiTest, StoresAPushAndCountsItsRows) {
  const Response response = Push(CpuProfile());
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Number(response, "samples"), 2u);
  EXPECT_EQ(Number(response, "rows_received"), 2u);
  EXPECT_EQ(Number(response, "rows_kept"), 2u);
  EXPECT_EQ(store_.Status().rows, 2u);
  EXPECT_EQ(store_.labels(store::SeriesId(0)), (store::Labels{{"service.name", "shop"}}));
}

TEST_F(ApiTest, TakesLabelsFromParametersAndHeaderTogether) {
  ASSERT_EQ(Push(CpuProfile(), "/api/v1/profiles?label.service=shop&label.team=eu",
                 {{"vesta-labels", "version=1.4, node=a"}})
                .status,
            200);
  EXPECT_EQ(store_.labels(store::SeriesId(0)), (store::Labels{{"host.name", "a"},
                                                              {"service.name", "shop"},
                                                              {"service.version", "1.4"},
                                                              {"team", "eu"}}));
  EXPECT_EQ(
      Push(CpuProfile(), "/api/v1/profiles?label.service=shop", {{"vesta-labels", "service=other"}})
          .status,
      400);
}

TEST_F(ApiTest, TakesTimesFromTheParameterElseFromTheProfileElseNow) {
  ASSERT_EQ(Push(CpuProfile(), "/api/v1/profiles?time=1795000000000").status, 200);
  EXPECT_EQ(store_.Status().range->from_unix_ms, 1'795'000'000'000);
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  EXPECT_EQ(store_.Status().range->to_unix_ms - 1, kNow - 60'000);
  ASSERT_EQ(Push("main;parse 3\n").status, 200);
  EXPECT_EQ(store_.Status().range->to_unix_ms - 1, kNow);
  EXPECT_EQ(Push(CpuProfile(), "/api/v1/profiles?time=tomorrow").status, 400);
}

TEST_F(ApiTest, CountsABatchOnce) {
  const std::vector<Parameter> headers = {{"vesta-batch", "agent/boot/7"}};
  EXPECT_EQ(Number(Push(CpuProfile(), "/api/v1/profiles", headers), "rows_kept"), 2u);
  const Response again = Push(CpuProfile(), "/api/v1/profiles", headers);
  EXPECT_EQ(Number(again, "rows_kept"), 0u);
  EXPECT_EQ(Number(again, "rows_duplicate"), 2u);
  for (const char* id : {"", "a/b", "a/b/", "a/b/x", "a/b/-1", "/b/1", "a//1", "a/b/1/2",
                         "a/b/99999999999999999999"}) {
    EXPECT_EQ(Push(CpuProfile(), "/api/v1/profiles", {{"vesta-batch", id}}).status, 400) << id;
  }
}

TEST_F(ApiTest, UnpacksWhatTheHeaderAndTheFileSay) {
  const std::string packed = CpuProfile();
  ASSERT_TRUE(wire::IsGzip(packed));
  EXPECT_EQ(Push(packed, "/api/v1/profiles", {{"content-encoding", "gzip"}}).status, 200);
  EXPECT_EQ(Push(Gzip(packed), "/api/v1/profiles", {{"content-encoding", "GZIP"}}).status, 200);
  EXPECT_EQ(Push(packed, "/api/v1/profiles", {{"content-encoding", "identity"}}).status, 200);
  // "main;parse 12" by zstd -19.
  const std::string zstd(
      "\x28\xb5\x2f\xfd\x04\x68\x71\x00\x00\x6d\x61\x69\x6e\x3b\x70\x61\x72\x73\x65\x20\x31\x32\x0a"
      "\x42\xc4\xb3\x3f",
      27);
  EXPECT_EQ(Push(zstd, "/api/v1/profiles", {{"content-encoding", "zstd"}}).status, 200);
  EXPECT_EQ(Push(zstd).status, 200);
  EXPECT_EQ(Push(zstd.substr(0, 20)).status, 400);
  EXPECT_EQ(Push(packed, "/api/v1/profiles", {{"content-encoding", "zstd"}}).status, 400);
  EXPECT_EQ(Push("main 1\n", "/api/v1/profiles", {{"content-encoding", "gzip"}}).status, 400);
  EXPECT_EQ(Push(packed, "/api/v1/profiles", {{"content-encoding", "br"}}).status, 415);
  EXPECT_EQ(Push(packed, "/api/v1/profiles", {{"content-encoding", "gzip, gzip"}}).status, 415);
  EXPECT_EQ(Push(Gzip(Gzip(Gzip(packed)))).status, 415);
}

TEST_F(ApiTest, RefusesHostilePushesAndStoresNothing) {
  const std::string good = CpuProfile();
  EXPECT_EQ(Push("").status, 400);
  EXPECT_EQ(Push(std::string(1000, '\xff')).status, 400);
  EXPECT_EQ(Push("\x7f"
                 "ELF\x02\x01\x01")
                .status,
            415);
  for (size_t size = 1; size < good.size(); size += 7) {
    const int status = Push(good.substr(0, size)).status;
    EXPECT_TRUE(status == 400 || status == 415) << size << ": " << status;
  }
  EXPECT_EQ(Push(std::string((1 << 20) + 1, 'x')).status, 413);
  EXPECT_EQ(Push(Gzip(std::string(5 << 20, '\0'))).status, 413);
  EXPECT_EQ(Push(good, "/api/v1/profiles?label.=x").status, 400);
  EXPECT_EQ(Push(good, "/api/v1/profiles?label.a=" + std::string(20'000, 'x')).status, 400);
  EXPECT_EQ(Push("main;parse -3\n").status, 422);
  EXPECT_EQ(store_.Status().rows, 0u);
}

TEST_F(ApiTest, ABombTakesNoMoreThanItsShareAndGivesItBack) {
  ByteBudget budget(6 << 20);
  {
    BudgetShare share(budget);
    Request request = RequestOf("POST", "/api/v1/profiles");
    request.body = Gzip(std::string(3 << 20, '\0'));
    request.body.replace(request.body.size() - 4, 4, std::string("\x10\0\0\0", 4));  // it lies
    std::string storage;
    const auto plain = UnpackBody(request, 4 << 20, &share, storage);
    EXPECT_FALSE(plain.ok());  // the size at its end is wrong, too
    EXPECT_EQ(share.bytes(), uint64_t{4} << 20);
    ByteBudget small(1 << 20);
    BudgetShare small_share(small);
    const auto no_room = UnpackBody(request, 4 << 20, &small_share, storage);
    ASSERT_FALSE(no_room.ok());
    EXPECT_EQ(no_room.error().code(), base::ErrorCode::kUnavailable);
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST_F(ApiTest, ADecodedPushTakesItsShareToo) {
  ByteBudget budget(1 << 20);
  const auto push = [&](std::string body) {
    BudgetShare share(budget);
    Request request = RequestOf("POST", "/api/v1/profiles");
    request.body = std::move(body);
    const int status = api_.Answer(request, {.share = &share}).status;
    return std::pair(status, share.bytes());
  };
  const auto [status, bytes] = push(Gzip(CpuProfile()));
  EXPECT_EQ(status, 200);
  EXPECT_GT(bytes, 3 * CpuProfile().size()) << "not the packed file alone";
  // Folded stacks are small as a file, and much larger when they are known.
  std::string folded;
  for (int i = 0; i < 20'000; ++i) folded += "a;b" + std::to_string(i) + " 1\n";
  EXPECT_EQ(push(folded).first, 200) << "alone it may have more";
  BudgetShare other(budget);
  ASSERT_TRUE(other.Grow(1));
  EXPECT_EQ(push(folded).first, 503);
  EXPECT_EQ(budget.used_bytes(), 1u);
}

TEST_F(ApiTest, QuestionsShareTheirMemory) {
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  ByteBudget questions(64 << 20);
  ApiOptions options = Options();
  options.questions_memory = &questions;
  Api api(store_, options);
  EXPECT_EQ(api.Answer(RequestOf("GET", "/api/v1/tree")).status, 200);
  EXPECT_EQ(questions.used_bytes(), 0u);
  EXPECT_GT(questions.peak_bytes(), 0u);
  ASSERT_TRUE(questions.Take(64 << 20));
  for (const char* target : {"/api/v1/tree", "/api/v1/rows", "/api/v1/profile", "/api/v1/labels"}) {
    const Response busy = api.Answer(RequestOf("GET", target));
    EXPECT_EQ(busy.status, 503) << target;
    EXPECT_EQ(HeaderOf(busy, "Retry-After"), "1") << target;
  }
}

TEST_F(ApiTest, ToolsOfPprofGetErrorsAsText) {
  for (const char* target :
       {"/api/v1/profile?query=%7B", "/api/v1/profile?no_such=1", "/api/v1/profile?by=a&by=b",
        "/api/v1/tree?format=pprof&query=%7B", "/api/v1/profile?format=pprof&from=soon"}) {
    const Response response = Get(target);
    EXPECT_EQ(response.status, 400) << target;
    EXPECT_EQ(response.content_type, "text/plain; charset=utf-8") << target;
    EXPECT_EQ(HeaderOf(response, "X-Go-Pprof"), "1") << target;
    EXPECT_EQ(response.body.find("{\"error"), std::string::npos) << response.body;
  }
  EXPECT_EQ(Get("/api/v1/profile?query=%7B").body,
            "query: position 2: expected the name of a label\n");
  EXPECT_EQ(CodeOf(Get("/api/v1/profile?query=%7B&format=folded")), "invalid");
  EXPECT_EQ(CodeOf(Get("/api/v1/tree?query=%7B")), "invalid");
  EXPECT_EQ(HeaderOf(Get("/api/v1/profile"), "X-Go-Pprof"), "") << "no error";
}

TEST_F(ApiTest, NotesReachFormatsThatHaveNoPlaceForThem) {
  ASSERT_EQ(Push(CpuProfile(), "/api/v1/profiles?label.service=shop").status, 200);
  const std::string none = "query=cpu{service=%22none%22}";
  for (const char* path :
       {"/api/v1/profile?", "/api/v1/profile?format=folded&", "/api/v1/tree?format=html&",
        "/api/v1/tree?format=page&", "/api/v1/rows?"}) {
    const Response empty = Get(path + none);
    ASSERT_EQ(empty.status, 200) << path << empty.body;
    EXPECT_EQ(HeaderOf(empty, "Vesta-Empty"), "true") << path;
    EXPECT_EQ(HeaderOf(empty, "Vesta-Notes").find("[\"no series match in this range"), 0u) << path;
    const Response full = Get(std::string(path) + "query=cpu");
    EXPECT_EQ(HeaderOf(full, "Vesta-Empty"), "") << path;
    EXPECT_EQ(HeaderOf(full, "Vesta-Notes"), "") << path;
  }
  EXPECT_EQ(Get("/api/v1/profile?format=folded&" + none).body, "");
  const auto profile = wire::DecodeProfile(Get("/api/v1/profile?" + none).body, "it");
  ASSERT_TRUE(profile.ok());
  ASSERT_EQ(profile->header().comments.size(), 1u);
  EXPECT_EQ(profile->String(profile->header().comments[0]).find("no series match"), 0u);
}

TEST_F(ApiTest, TheFrontPageMayAskThisServerOnly) {
  const Response page = Get("/");
  const std::string policy = HeaderOf(page, "Content-Security-Policy");
  EXPECT_EQ(policy.find("default-src 'none'; "), 0u) << policy;
  EXPECT_NE(policy.find("connect-src 'self'; "), std::string::npos) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  EXPECT_EQ(page.body.find("<script>"), std::string::npos) << "the policy would stop it";
  EXPECT_EQ(page.body.find(" style="), std::string::npos);
  for (const auto& [path, type] : {std::pair{"/page.js", "text/javascript; charset=utf-8"},
                                   std::pair{"/page.css", "text/css; charset=utf-8"}}) {
    EXPECT_NE(page.body.find("\"" + std::string(path) + "\""), std::string::npos) << path;
    EXPECT_EQ(Get(path).content_type, type);
    EXPECT_EQ(HeaderOf(Get(path), "X-Content-Type-Options"), "nosniff");
  }
}

TEST_F(ApiTest, TheFrontPageHasTheAddressThatWasAsked) {
  const auto url = [&](const std::string& host) {
    const std::string page = Get("/", {{"host", host}}).body;
    const size_t begin = page.find("@cpu.pb.gz '") + 12;
    return page.substr(begin, page.find("/api/v1/profiles?") - begin);
  };
  EXPECT_EQ(url("localhost:8080"), "http://localhost:8080");
  EXPECT_EQ(url("[::1]:1"), "http://[::1]:1");
  EXPECT_EQ(url("x';rm -rf ~;'"), "http://127.0.0.1:7171");
  EXPECT_EQ(url("<b>"), "http://127.0.0.1:7171");
}

TEST_F(ApiTest, AListOfLabelsMayComeInSeveralHeaders) {
  ASSERT_EQ(Push(CpuProfile(), "/api/v1/profiles",
                 {{"vesta-labels", "service=shop"}, {"vesta-labels", "version=2,node=a"}})
                .status,
            200);
  EXPECT_EQ(
      store_.labels(store::SeriesId(0)),
      (store::Labels{{"host.name", "a"}, {"service.name", "shop"}, {"service.version", "2"}}));
  EXPECT_EQ(Push(CpuProfile(), "/api/v1/profiles",
                 {{"vesta-labels", "service=shop"}, {"vesta-labels", "service=cart"}})
                .status,
            400);
}

TEST_F(ApiTest, ThousandsOfLabelValuesOverflowAndAreCounted) {
  store::MemoryStore small({.series_max = 50});
  Api api(small, Options());
  for (int i = 0; i < 60; ++i) {
    Request request = RequestOf("POST", "/api/v1/profiles?label.request=" + std::to_string(i));
    request.body = CpuProfile();
    ASSERT_EQ(api.Answer(request).status, 200);
  }
  EXPECT_EQ(small.Status().book.rows_overflowed, 20u);
}

TEST_F(ApiTest, RefusesAQuestionThatIsNone) {
  EXPECT_EQ(CodeOf(Get("/api/v1/tree?qurey=cpu")), "bad_request");
  EXPECT_EQ(CodeOf(Get("/api/v1/tree?from=-1h&from=-2h")), "bad_request");
  EXPECT_EQ(CodeOf(Get("/api/v1/tree?format=xml")), "invalid");
  EXPECT_EQ(CodeOf(Get("/api/v1/top?width=10001")), "invalid");
  EXPECT_EQ(CodeOf(Get("/api/v1/explain?question=why")), "invalid");
  EXPECT_EQ(CodeOf(Get("/api/v1/tree?query=%7B")), "invalid");
  EXPECT_EQ(Get("/api/v1/trees").status, 404);
  EXPECT_EQ(Get("/api/v1/labels//values").status, 404);
  Request put = RequestOf("PUT", "/api/v1/profiles");
  const Response refused = api_.Answer(put);
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers[0].value, "POST");
}

// Of other profilers: `cpu` without a count, in another unit, with another period.
std::string CpuOfOthers(const char* unit) {
  profile::Profile cpu;
  cpu.SetSampleTypes({cpu.InternValueType("cpu", unit)});
  cpu.header().time_unix_ns = (kNow - 30'000) * 1'000'000;
  const profile::Line line{cpu.AddFunction({cpu.InternString("parse"), {}, {}, 0}), 7, 0};
  const profile::LocationId leaf = cpu.AddLocation({.address = 0, .lines = {&line, 1}});
  cpu.AppendSample(cpu.InternStack({&leaf, 1}), {}, {{7'000'000}});
  return wire::EncodePprof(cpu);
}

TEST_F(ApiTest, AnswersEachQuestionInEachFormat) {
  ASSERT_EQ(Push(CpuProfile(), "/api/v1/profiles?label.service=shop").status, 200);
  AskEachQuestionInEachFormat();
}

TEST_F(ApiTest, AnswersEachQuestionOfSeveralKindsOfCpu) {
  ASSERT_EQ(Push(CpuProfile(), "/api/v1/profiles?label.service=shop").status, 200);
  for (const char* unit : {"nanoseconds", "count", "milliseconds", "cycles"})
    ASSERT_EQ(Push(CpuOfOthers(unit), "/api/v1/profiles?label.service=other").status, 200);
  AskEachQuestionInEachFormat();
  // One unit, all of it, and what else there is.
  const Response tree = Get("/api/v1/tree");
  EXPECT_NE(tree.body.find("507000000"), std::string::npos) << tree.body;
  EXPECT_NE(tree.body.find("there is also"), std::string::npos) << tree.body;
}

void ApiTest::AskEachQuestionInEachFormat() {
  for (const Route& route : AllRoutes()) {
    if (route.formats.empty()) continue;
    std::string path(route.path);
    if (const size_t name = path.find("{name}"); name != std::string::npos)
      path.replace(name, 6, "service");
    std::string_view formats = route.formats;
    while (!formats.empty()) {
      const std::string_view format = formats.substr(0, formats.find(' '));
      formats.remove_prefix(std::min(format.size() + 1, formats.size()));
      std::string target = path + "?format=" + std::string(format);
      if (route.parameters.find("function") != std::string_view::npos) target += "&function=parse";
      if (route.question == query::Question::kDiff) target += "&before=cpu";
      const Response response = Get(target);
      EXPECT_EQ(response.status, 200) << target << ": " << response.body.substr(0, 300);
      EXPECT_TRUE(HasFormat(response.body, format)) << target;
    }
  }
}

TEST_F(ApiTest, FoldedHasTheValuesThatWerePushed) {
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  const Response response = Get("/api/v1/profile?query=cpu&format=folded&by=");
  EXPECT_EQ(response.content_type, "text/plain; charset=utf-8");
  EXPECT_NE(response.body.find("main;parse 300000000\n"), std::string::npos) << response.body;
  EXPECT_NE(response.body.find("main;write 200000000\n"), std::string::npos) << response.body;
}

TEST_F(ApiTest, RowsThatAreReadAndPushedAgainAreTheSame) {
  ASSERT_EQ(Push(CpuProfile(), "/api/v1/profiles?label.service=shop&label.version=2").status, 200);
  const Response rows = Get("/api/v1/rows?query=cpu");
  ASSERT_EQ(rows.status, 200) << rows.body;
  const auto files = wire::ReadTar(rows.body);
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 1u);
  store::MemoryStore other_store;
  Api other(other_store, Options());
  Request push = RequestOf("POST", "/api/v1/profiles");
  push.body = (*files)[0].bytes;
  ASSERT_EQ(other.Answer(push).status, 200);
  const Request question = RequestOf("GET", "/api/v1/tree?query=cpu{service=%22shop%22}");
  EXPECT_EQ(other.Answer(question).body, api_.Answer(question).body);
  EXPECT_EQ(other_store.labels(store::SeriesId(0)), store_.labels(store::SeriesId(0)));
}

TEST_F(ApiTest, RowsThatAreThereAreNotAddedAgainForWhoeverSaysThatTheyAreTheSame) {
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  const Response rows = Get("/api/v1/rows?query=cpu");
  const auto files = wire::ReadTar(rows.body);
  ASSERT_TRUE(files.ok() && files->size() == 1u);
  const std::string part((*files)[0].bytes);
  for (const char* stored : {"count", "skip"}) {
    const Response response = Push(part, std::string("/api/v1/profiles?stored=") + stored);
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(Number(response, "samples"), 2u);
    EXPECT_EQ(Number(response, "rows_received"), 2u);
    EXPECT_EQ(Number(response, "rows_duplicate"), 2u);
    EXPECT_EQ(Number(response, "rows_kept"), 0u);
    EXPECT_EQ(store_.Status().rows, 2u);
  }
  // Of another service they are others.
  const std::string other = "/api/v1/profiles?label.service=other&stored=";
  EXPECT_EQ(Number(Push(part, other + "count"), "rows_duplicate"), 0u);
  EXPECT_EQ(store_.Status().rows, 2u);
  EXPECT_EQ(Number(Push(part, other + "skip"), "rows_kept"), 2u);
  EXPECT_EQ(Number(Push(part, "/api/v1/profiles?stored=add"), "rows_kept"), 2u);
  EXPECT_EQ(store_.Status().rows, 6u);
  EXPECT_EQ(Push(part, "/api/v1/profiles?stored=maybe").status, 400);
}

TEST_F(ApiTest, RowsBeyondTheLimitAreRefused) {
  ApiOptions options = Options();
  options.query_memory_bytes = 100;
  Api api(store_, options);
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  EXPECT_EQ(api.Answer(RequestOf("GET", "/api/v1/rows")).status, 422);
}

TEST_F(ApiTest, AQuestionThatTakesTooLongSaysSo) {
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  ApiOptions options = Options();
  options.query_timeout_ms = 0;
  Api api(store_, options);
  const Response response = api.Answer(RequestOf("GET", "/api/v1/tree"));
  EXPECT_EQ(response.status, 504) << response.body;
  EXPECT_EQ(CodeOf(response), "too_slow");
}

TEST_F(ApiTest, ACancelledQuestionIsNotAnswered) {
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  const std::atomic<bool> cancelled = true;
  EXPECT_EQ(api_.Answer(RequestOf("GET", "/api/v1/tree"), {.cancelled = &cancelled}).status, 503);
}

TEST_F(ApiTest, PacksLargeAnswersForThoseWhoTakeIt) {
  const Response plain = Get("/openapi.yaml");
  const Response packed = Get("/openapi.yaml", {{"accept-encoding", "gzip, br"}});
  ASSERT_EQ(packed.headers.back().name, "Content-Encoding");
  EXPECT_EQ(*wire::Gunzip(packed.body, 1 << 20), plain.body);
  EXPECT_EQ(plain.headers.back().name, "Vary");
}

TEST_F(ApiTest, ReadyUnlessItIsStopping) {
  EXPECT_EQ(Get("/readyz").status, 200);
  EXPECT_EQ(Get("/healthz").status, 200);
  api_.SetDraining();
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Get("/healthz").status, 200);
}

TEST_F(ApiTest, MetricsHaveTheBook) {
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  api_.metrics().Count({.route = 0, .status = 200, .seconds = 0.02, .bytes_in = 5});
  api_.metrics().Count({.route = AllRoutes().size(), .status = 404, .seconds = 100});
  const std::string text = Get("/metrics").body;
  for (const char* line :
       {"# TYPE vesta_rows_received_total counter\nvesta_rows_received_total 2\n",
        "vesta_rows_kept_total 2\n", "vesta_rows_duplicate_total 0\n",
        "vesta_rows_dropped_total{reason=\"too_old\"} 0\n",
        "vesta_build_info{version=\"1.2.3\"} 1\n",
        "vesta_http_requests_total{method=\"POST\",path=\"/api/v1/profiles\",status=\"200\"} 1\n",
        "vesta_http_requests_total{method=\"\",path=\"\",status=\"404\"} 1\n",
        "path=\"/api/v1/profiles\",le=\"0.01\"} 0\n", "path=\"/api/v1/profiles\",le=\"0.025\"} 1\n",
        "path=\"\",le=\"30\"} 0\n", "path=\"\",le=\"+Inf\"} 1\n",
        "vesta_http_received_bytes_total 5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST_F(ApiTest, StatusTellsWhatIsStored) {
  ASSERT_EQ(Push(CpuProfile()).status, 200);
  const auto json = base::ParseJson(Get("/api/v1/status").body);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("store")->Find("rows")->AsUint(), 2u);
  EXPECT_EQ(json->Find("book")->Find("rows_kept")->AsUint(), 2u);
}

}  // namespace
}  // namespace vesta::server
