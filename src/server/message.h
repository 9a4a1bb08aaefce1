// A request and its answer as data, so that everything but the adapter works without sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vesta::server {

struct Parameter {
  std::string name;
  std::string value;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// Shape: path and parameters without escapes; header names in lower case; body as it came.
struct Request {
  std::string method = {};  // HEAD is answered as GET; who sends it leaves the body away
  std::string path = {};
  std::vector<Parameter> parameters = {};
  std::vector<Parameter> headers = {};
  std::string body = {};

  // The first one of this name; nothing when there is none.
  std::optional<std::string_view> Header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<Parameter> headers = {};
  std::string error_message = {};  // of an error, as it is in the body
};

// {"error":{"code":...,"message":...}}. Shape: code is a word that programs may branch on, message
// a sentence for people that says what to do next.
Response ErrorResponse(int status, std::string_view code, std::string_view message);

// An error as the tools of pprof print it: plain text, and a header that says so. Others stay.
// Source: statusCodeError of github.com/google/pprof/internal/driver/fetch.go.
void TellPprof(Response& response);

// A target such as "/api/v1/tree?query=cpu%7B%7D&from=-1h", taken apart.
// Shape: nothing when it does not start with '/', an escape is none, a byte would be 0, or there
//        are more than kParametersMax parameters. '+' is a space in a query only.
struct Target {
  std::string path;
  std::vector<Parameter> parameters;
};
inline constexpr size_t kParametersMax = 200;
std::optional<Target> ParseTarget(std::string_view target);

// Whether a header such as Accept-Encoding takes the coding: named, or by "*", and not with q=0.
bool AcceptsCoding(std::string_view header, std::string_view coding);

}  // namespace vesta::server
