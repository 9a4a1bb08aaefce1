#include "src/server/api.h"

#include <utility>

#include "src/server/description.h"
#include "src/server/front_page.h"
#include "src/server/otlp_push.h"
#include "src/server/push.h"
#include "src/server/questions.h"
#include "src/server/routes.h"
#include "src/server/symbol_push.h"
#include "src/wire/gzip.h"

namespace vesta::server {
namespace {

constexpr size_t kPackedFrom = 1400;  // bytes; less fits into one packet anyway

ApiOptions WithClock(ApiOptions options) {
  if (!options.now_unix_ms) {
    options.now_unix_ms = [] {
      return std::chrono::duration_cast<std::chrono::milliseconds>(
                 std::chrono::system_clock::now().time_since_epoch())
          .count();
    };
  }
  return options;
}

bool MayBePacked(const Response& response) {
  if (response.body.size() < kPackedFrom) return false;
  // What is packed already says how it is to be taken; page data is not.
  for (const Parameter& header : response.headers) {
    if (header.name == "Content-Disposition") return false;
  }
  return true;
}

void Pack(const Request& request, Response& response) {
  if (!MayBePacked(response)) return;
  response.headers.push_back({"Vary", "Accept-Encoding"});
  if (!AcceptsCoding(request.Header("accept-encoding").value_or(""), "gzip")) return;
  wire::GzipWriter gzip(1);
  gzip.Write(response.body);
  response.body = gzip.Finish();
  response.headers.push_back({"Content-Encoding", "gzip"});
}

Response PlainText(std::string text) {
  return {.content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

}  // namespace

Api::Api(store::Store& store, ApiOptions options)
    : store_(store),
      options_(WithClock(std::move(options))),
      started_(std::chrono::steady_clock::now()) {}

ServerState Api::State() const {
  ServerState state;
  state.version = options_.version;
  state.instance = options_.instance;
  state.uptime_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  state.now_unix_ms = options_.now_unix_ms();
  state.store = store_.Status();
  if (const HttpServer* http = http_) state.http = http->status();
  if (const ByteBudget* budget = budget_) state.flight_bytes = budget->used_bytes();
  ReadProcess(state);
  return state;
}

Response Api::Ready() {
  if (is_draining_)
    return ErrorResponse(503, "draining", "the server is stopping: ask another one");
  const auto refuses = store_.Status().refuses_writes;
  if (refuses) return ErrorResponse(503, "unavailable", *refuses);
  return PlainText("ready\n");
}

Response Api::AnswerRoute(const Request& request, const AnswerContext& context) {
  const RouteAnswer found = FindRoute(request.method, request.path);
  if (!found.match) return found.refusal;
  const Route& route = AllRoutes()[found.match->route];
  if (auto refusal = CheckParameters(route, request)) return *refusal;
  switch (route.endpoint) {
    case Endpoint::kPush:
      return AnswerPush(store_, options_, request, context);
    case Endpoint::kOtlp:
      return AnswerOtlp(store_, options_, senders_, request, context);
    case Endpoint::kSymbols:
      return AnswerSymbols(store_, options_, metrics_, request, context);
    case Endpoint::kAgents:
      return {.body = SendersJson(senders_.List())};
    case Endpoint::kQuestion:
      return AnswerQuestion(store_, options_, route, found.match->argument, request, context);
    case Endpoint::kExplain:
      return AnswerExplain(store_, options_, route, request, context);
    case Endpoint::kRows:
      return AnswerRows(store_, options_, request, context);
    case Endpoint::kStatus:
      return {.body = StatusJson(State())};
    case Endpoint::kRoutes:
      return {.body = RoutesJson()};
    case Endpoint::kFrontPage:
      return FrontPage(options_.version, options_.is_tls, request.Header("host").value_or(""));
    case Endpoint::kFrontPageScript:
      return FrontPageScript();
    case Endpoint::kFrontPageStyle:
      return FrontPageStyle();
    case Endpoint::kHealth:
      return PlainText("alive\n");
    case Endpoint::kReady:
      return Ready();
    case Endpoint::kMetrics:
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
              .body = metrics_.Text(State(), senders_.List())};
    case Endpoint::kDescription:
      return {.content_type = "application/yaml", .body = std::string(OpenApiDescription())};
  }
  return ErrorResponse(500, "internal", "a route without an answer");
}

Response Api::Answer(const Request& request, const AnswerContext& context) {
  Response response = AnswerRoute(request, context);
  if (AsksForPprof(request)) TellPprof(response);
  Pack(request, response);
  return response;
}

}  // namespace vesta::server
