#include "src/server/routes.h"

#include <algorithm>
#include <vector>

#include "src/base/json.h"

namespace vesta::server {
namespace {

using query::Question;

constexpr std::string_view kPprof = "pprof";
constexpr std::string_view kTreeFormats = "json text page html";

#define VESTA_RANGE "query from to "

constexpr Route kRoutes[] = {
    {"POST", "/api/v1/profiles", Endpoint::kPush, Lane::kPush, Scope::kWrite,
     "time counted_type stored label.*"},
    {"POST", "/v1development/profiles", Endpoint::kOtlp, Lane::kPush, Scope::kWrite, ""},
    {"POST", "/api/v1/symbols", Endpoint::kSymbols, Lane::kPush, Scope::kWrite, ""},
    {"GET", "/api/v1/tree", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "by max_nodes limit width format", "json text page html pprof folded",
     Question::kTree},
    {"GET", "/api/v1/top", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "by order limit width format", "json text", Question::kTop},
    {"GET", "/api/v1/series", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "by step limit width format", "json text", Question::kSeries},
    {"GET", "/api/v1/labels", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "limit width format", "json text", Question::kLabels},
    {"GET", "/api/v1/labels/{name}/values", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "limit width format", "json text", Question::kValues},
    {"GET", "/api/v1/types", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "width format", "json text", Question::kTypes},
    {"GET", "/api/v1/callers", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "by function max_nodes limit width format", kTreeFormats, Question::kCallers},
    {"GET", "/api/v1/callees", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "by function max_nodes limit width format", kTreeFormats, Question::kCallees},
    {"GET", "/api/v1/lines", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "function limit width format", "json text", Question::kLines},
    {"GET", "/api/v1/diff", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "before by order normalize max_nodes limit width format", kTreeFormats,
     Question::kDiff},
    {"GET", "/api/v1/profile", Endpoint::kQuestion, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE "by format", "pprof folded", Question::kProfile},
    {"GET", "/api/v1/explain", Endpoint::kExplain, Lane::kQuestion, Scope::kRead,
     VESTA_RANGE
     "question before by order step max_nodes limit label function normalize width format",
     "json text"},
    {"GET", "/api/v1/rows", Endpoint::kRows, Lane::kQuestion, Scope::kRead, VESTA_RANGE},
    {"GET", "/api/v1/agents", Endpoint::kAgents, Lane::kStatus, Scope::kRead, ""},
    {"GET", "/api/v1/status", Endpoint::kStatus, Lane::kStatus, Scope::kRead, ""},
    {"GET", "/api/v1/routes", Endpoint::kRoutes, Lane::kAtOnce, Scope::kNone, ""},
    {"GET", "/", Endpoint::kFrontPage, Lane::kAtOnce, Scope::kNone, ""},
    {"GET", "/page.js", Endpoint::kFrontPageScript, Lane::kAtOnce, Scope::kNone, ""},
    {"GET", "/page.css", Endpoint::kFrontPageStyle, Lane::kAtOnce, Scope::kNone, ""},
    {"GET", "/healthz", Endpoint::kHealth, Lane::kAtOnce, Scope::kNone, ""},
    {"GET", "/readyz", Endpoint::kReady, Lane::kStatus, Scope::kNone, ""},
    {"GET", "/metrics", Endpoint::kMetrics, Lane::kStatus, Scope::kRead, ""},
    {"GET", "/openapi.yaml", Endpoint::kDescription, Lane::kAtOnce, Scope::kNone, ""},
};

#undef VESTA_RANGE

// Whether the path is one of the pattern's, and what stands for its "{name}".
bool MatchPath(std::string_view pattern, std::string_view path, std::string& argument) {
  const size_t begin = pattern.find('{');
  if (begin == std::string_view::npos) return pattern == path;
  const std::string_view before = pattern.substr(0, begin);
  const std::string_view behind = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) ||
      !path.ends_with(behind)) {
    return false;
  }
  argument = path.substr(before.size(), path.size() - before.size() - behind.size());
  return true;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return words;
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

bool Knows(const Route& route, std::string_view parameter) {
  const auto words = Words(route.parameters);
  return std::any_of(words.begin(), words.end(), [parameter](std::string_view word) {
    if (!word.ends_with('*')) return word == parameter;
    word.remove_suffix(1);
    return parameter.size() > word.size() && parameter.starts_with(word);
  });
}

Response MethodRefused(std::string_view allowed) {
  const std::string words = allowed == "GET" ? "GET, HEAD" : std::string(allowed);
  Response response =
      ErrorResponse(405, "method_not_allowed", "this path is there for " + words + " only");
  response.headers.push_back({"Allow", words});
  return response;
}

}  // namespace

std::span<const Route> AllRoutes() { return kRoutes; }

RouteAnswer FindRoute(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  RouteAnswer answer{.match = std::nullopt,
                     .refusal = ErrorResponse(404, "not_found",
                                              "there is nothing at this path: /openapi.yaml lists "
                                              "all that there are")};
  for (size_t i = 0; i < std::size(kRoutes); ++i) {
    RouteMatch match{.route = i};
    if (!MatchPath(kRoutes[i].path, path, match.argument)) continue;
    if (kRoutes[i].method == method) {
      answer.match = std::move(match);
      return answer;
    }
    answer.refusal = MethodRefused(kRoutes[i].method);
  }
  return answer;
}

std::optional<Response> CheckParameters(const Route& route, const Request& request) {
  for (size_t i = 0; i < request.parameters.size(); ++i) {
    const std::string& name = request.parameters[i].name;
    if (!Knows(route, name)) {
      return ErrorResponse(
          400, "bad_request",
          "there is no parameter \"" + name + "\" here" +
              (route.parameters.empty() ? std::string()
                                        : "; there are: " + std::string(route.parameters)));
    }
    for (size_t j = 0; j < i; ++j) {
      if (request.parameters[j].name == name)
        return ErrorResponse(400, "bad_request", "the parameter \"" + name + "\" comes twice");
    }
  }
  return std::nullopt;
}

bool AsksForPprof(const Request& request) {
  const RouteAnswer found = FindRoute(request.method, request.path);
  if (!found.match) return false;
  for (const Parameter& parameter : request.parameters) {
    if (parameter.name == "format") return parameter.value == kPprof;
  }
  return kRoutes[found.match->route].formats.starts_with(kPprof);
}

std::string RoutesJson() {
  base::JsonWriter json;
  json.BeginArray();
  for (const Route& route : kRoutes) {
    json.BeginObject().Key("method").String(route.method).Key("path").String(route.path);
    for (const auto& [key, words] :
         {std::pair{"parameters", route.parameters}, std::pair{"formats", route.formats}}) {
      json.Key(key).BeginArray();
      for (const std::string_view word : Words(words)) json.String(word);
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray();
  return json.Take() + "\n";
}

}  // namespace vesta::server
