// Asks a vesta server over HTTP. The library behind it is loaded with the first client.
#pragma once

#include <cstdint>
#include <memory>
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
};

// Shape: target "/api/v1/tree?query=..."; a body makes it a POST.
struct HttpRequest {
  std::string target = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  const std::string* body = nullptr;
};

// Shape: header names in lower case.
struct HttpResponse {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // "" when there is no such header.
  std::string Header(const std::string& name) const;
};

// Owner: one thread; connections are kept between requests.
class HttpClient {
 public:
  // Errors: Unsupported without libcurl, InvalidInput for a URL or token that cannot be one.
  static base::Result<std::unique_ptr<HttpClient>> Open(const HttpClientOptions& options);
  virtual ~HttpClient() = default;

  // An answer of any status; redirects are not followed, since the token is for this server alone.
  // Errors: NotFound when nobody listens there, Unavailable when the exchange failed or took too
  //         long, Permission when the server's certificate is not trusted, Exhausted for an answer
  //         beyond the limit. Messages name the URL and what to do.
  virtual base::Result<HttpResponse> Send(const HttpRequest& request) = 0;
};

// The text as part of a query string.
std::string EscapeQuery(std::string_view text);

}  // namespace vesta::client
