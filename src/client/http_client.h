// Asks a server over HTTP: one of vesta, or a debuginfod server. The one place that knows libcurl,
// which is loaded with the first client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.h"

namespace vesta::client {

// Shape: url "http://HOST[:PORT]" or "https://HOST[:PORT]", a path behind it is kept.
struct HttpClientOptions {
  std::string url = {};
  std::string token = {};    // sent as a bearer token; "" = none
  std::string ca_file = {};  // PEM, of who may vouch for the server; "" = as the system says
  uint64_t connect_timeout_ms = 5'000;
  uint64_t timeout_ms = 60'000;  // of a whole exchange
  uint64_t answer_bytes_max = uint64_t{1} << 30;
  uint32_t redirects_max = 0;  // never with a token, which is for this server alone
};

// Takes the next bytes of an answer. An error ends the exchange, and is what Send says.
using BodySink = std::function<base::Result<void>(std::string_view bytes)>;

// Shape: target "/api/v1/tree?query=...". A body makes it a POST; its pieces are sent one behind
// the
//        other, under one Content-Length. Texts are the caller's until Send is over.
struct HttpRequest {
  std::string target = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::optional<std::vector<std::string_view>> body = {};
  BodySink sink = {};  // takes the body of an answer of success, so that none of it is kept
};

// Shape: header names in lower case.
struct HttpResponse {
  int status = 0;
  uint64_t retry_after_s = 0;  // how long the server wants to be left alone; 0 = it did not say
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // "" when there is no such header.
  std::string Header(const std::string& name) const;
};

// Owner: one thread, but for Cancel. The connection is kept for the next request; when the server
//        has closed it meanwhile, a new one is made, and a POST may reach the server twice.
class HttpClient {
 public:
  // Errors: Unsupported without libcurl, InvalidInput for a URL or token that cannot be one.
  static base::Result<std::unique_ptr<HttpClient>> Open(const HttpClientOptions& options);
  virtual ~HttpClient() = default;

  // An answer of any status.
  // Errors: NotFound when nobody listens there, Unavailable when the exchange failed, took too long
  //         or was cancelled, Permission when the server's certificate is not trusted, InvalidInput
  //         for a header or CA file that is none, Exhausted for an answer beyond the limit.
  //         Messages name the URL.
  virtual base::Result<HttpResponse> Send(const HttpRequest& request) = 0;

  // Ends the exchange that runs, and each later one, at once: for whoever wants to stop. May be
  // called from any thread, while the client lives.
  virtual void Cancel() = 0;
};

// The text as part of a query string.
std::string EscapeQuery(std::string_view text);

}  // namespace vesta::client
