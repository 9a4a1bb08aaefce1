// Everything of a request that is taken apart before anybody is trusted: the first line is a
// target, the rest headers.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/check.h"
#include "src/server/access.h"
#include "src/server/message.h"
#include "src/server/push.h"
#include "src/server/routes.h"

using namespace vesta::server;  // NOLINT: a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(bytes.find('\n'), bytes.size());
  const std::string_view rest = bytes.substr(std::min(line + 1, bytes.size()));
  const auto target = ParseTarget(bytes.substr(0, line));
  CHECK(!target || target->parameters.size() <= kParametersMax);
  AcceptsCoding(rest, "gzip");
  static_cast<void>(ParseBatchId(rest));
  static_cast<void>(ParseListenAddress(rest));
  const auto tokens = ParseTokens(rest);
  Request request{.method = "GET"};
  for (const char* name : {"host", "origin", "authorization", "vesta-labels"})
    request.headers.push_back({name, std::string(rest)});
  if (target) {
    request.path = target->path;
    request.parameters = target->parameters;
    const RouteAnswer found = FindRoute("GET", request.path);
    if (found.match) CheckParameters(AllRoutes()[found.match->route], request);
  }
  static_cast<void>(PushedLabels(request));
  CheckAccess({.tokens = {}, .host_name = "box"}, request, Scope::kRead);
  if (!tokens.ok()) return 0;
  // Nobody is let in who knows none of them.
  CHECK(!tokens->empty());
  request.headers = {{"authorization", "Bearer none-of-these-0123456789"}};
  for (const Token& token : *tokens) {
    if (token.secret == "none-of-these-0123456789") return 0;
  }
  CHECK(CheckAccess({.tokens = *tokens}, request, Scope::kRead));
  return 0;
}
