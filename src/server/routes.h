// Every path of the HTTP API with its parameters, as data: the dispatcher, the checks of requests,
// and the test of docs/openapi.yaml read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/query/request.h"
#include "src/server/access.h"
#include "src/server/http_server.h"
#include "src/server/message.h"

namespace vesta::server {

enum class Endpoint : uint8_t {
  kPush,
  kOtlp,
  kSymbols,
  kAgents,
  kQuestion,
  kExplain,
  kRows,
  kStatus,
  kRoutes,
  kFrontPage,
  kFrontPageScript,
  kFrontPageStyle,
  kHealth,
  kReady,
  kMetrics,
  kDescription,  // openapi.yaml
};

struct Route {
  std::string_view method;  // GET, which HEAD is, too; POST
  std::string_view path;    // may have one "{name}" between slashes
  Endpoint endpoint;
  Lane lane;
  Scope scope;
  std::string_view parameters;    // names with a space between; "label.*" = any that begins so
  std::string_view formats = "";  // values of the parameter format; the first is the default
  std::optional<query::Question> question = std::nullopt;
};

std::span<const Route> AllRoutes();

struct RouteMatch {
  size_t route = 0;           // of AllRoutes
  std::string argument = {};  // what stands for "{name}"
};
// Errors: as answers: 404 for an unknown path, 405 with what is allowed there.
struct RouteAnswer {
  std::optional<RouteMatch> match;
  Response refusal;
};
RouteAnswer FindRoute(std::string_view method, std::string_view path);

// 400 for a parameter that the route does not know, or that comes twice.
std::optional<Response> CheckParameters(const Route& route, const Request& request);

// Whether an answer to it is a file of pprof, and so whoever asked one of its tools.
bool AsksForPprof(const Request& request);

// The table for programs: [{"method":...,"path":...,"parameters":[...],...}].
std::string RoutesJson();

}  // namespace vesta::server
