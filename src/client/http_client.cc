#include "src/client/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "src/base/shared_library.h"

namespace vesta::client {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr size_t kHeaderBytesMax = size_t{64} << 10;

// The functions of libcurl that are used; its header tells their types.
struct Curl {
  static Result<Curl> Load() {
    ASSIGN_OR_RETURN(
        const auto library,
        base::SharedLibrary::Open({"libcurl.so.4", "libcurl-gnutls.so.4"},
                                  "talking to a server needs libcurl: apt-get install libcurl4"));
    Curl curl;
    if (!library.Find("curl_easy_init", curl.init) ||
        !library.Find("curl_easy_setopt", curl.setopt) ||
        !library.Find("curl_easy_perform", curl.perform) ||
        !library.Find("curl_easy_getinfo", curl.getinfo) ||
        !library.Find("curl_easy_reset", curl.reset) ||
        !library.Find("curl_easy_cleanup", curl.cleanup) ||
        !library.Find("curl_easy_strerror", curl.strerror) ||
        !library.Find("curl_slist_append", curl.append) ||
        !library.Find("curl_slist_free_all", curl.free_list)) {
      return Error(ErrorCode::kUnsupported, "libcurl lacks a function");
    }
    return curl;
  }

  CURL* (*init)() = nullptr;
  CURLcode (*setopt)(CURL*, CURLoption, ...) = nullptr;
  CURLcode (*perform)(CURL*) = nullptr;
  CURLcode (*getinfo)(CURL*, CURLINFO, ...) = nullptr;
  void (*reset)(CURL*) = nullptr;
  void (*cleanup)(CURL*) = nullptr;
  const char* (*strerror)(CURLcode) = nullptr;
  curl_slist* (*append)(curl_slist*, const char*) = nullptr;
  void (*free_list)(curl_slist*) = nullptr;
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// What comes of one exchange while it runs.
struct Exchange {
  HttpResponse response;
  uint64_t bytes_left = 0;
  size_t header_bytes_left = kHeaderBytesMax;
  bool is_too_large = false;
};

size_t TakeBody(char* bytes, size_t size, size_t count, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  const size_t total = size * count;
  if (total > exchange.bytes_left) {
    exchange.is_too_large = true;
    return 0;
  }
  exchange.bytes_left -= total;
  exchange.response.body.append(bytes, total);
  return total;
}

size_t TakeHeader(char* bytes, size_t size, size_t count, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  const std::string_view line(bytes, size * count);
  if (line.size() > exchange.header_bytes_left) return 0;
  exchange.header_bytes_left -= line.size();
  // "100 Continue" and the like come first; only the last answer's headers count.
  if (line.starts_with("HTTP/")) exchange.response.headers.clear();
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    exchange.response.headers.emplace_back(Lower(Trim(line.substr(0, colon))),
                                           std::string(Trim(line.substr(colon + 1))));
  }
  return line.size();
}

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; });
}

// "127.0.0.1" of "http://127.0.0.1:7171/x".
std::string_view HostOf(std::string_view url) {
  std::string_view host = url.substr(url.find("://") + 3);
  host = host.substr(0, host.find('/'));
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

class CurlClient : public HttpClient {
 public:
  CurlClient(const Curl& curl, CURL* handle, HttpClientOptions options)
      : curl_(curl), handle_(handle), options_(std::move(options)) {}
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;
  ~CurlClient() override { curl_.cleanup(handle_); }

  Result<HttpResponse> Send(const HttpRequest& request) override {
    curl_.reset(handle_);
    Exchange exchange;
    exchange.bytes_left = options_.answer_bytes_max;
    curl_slist* headers = nullptr;
    const auto add = [&](const std::string& line) {
      curl_slist* longer = curl_.append(headers, line.c_str());
      if (longer != nullptr) headers = longer;
      return longer != nullptr;
    };
    bool is_set = add("Expect:");  // our servers read at once
    if (!options_.token.empty()) is_set = is_set && add("Authorization: Bearer " + options_.token);
    for (const auto& [name, value] : request.headers) {
      if (HasControlCharacter(name) || HasControlCharacter(value)) {
        curl_.free_list(headers);
        return Error(ErrorCode::kInvalidInput, "a header would hold a control character");
      }
      is_set = is_set && add(name + ": " + value);
    }
    is_set = is_set && Set(request, headers, &exchange);
    const CURLcode done = is_set ? curl_.perform(handle_) : CURLE_UNKNOWN_OPTION;
    curl_.free_list(headers);
    if (done != CURLE_OK) return ErrorOf(done, exchange);
    long status = 0;
    curl_.getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    exchange.response.status = static_cast<int>(status);
    return std::move(exchange.response);
  }

 private:
  bool Set(const HttpRequest& request, curl_slist* headers, Exchange* exchange) {
    const auto set = [this](CURLoption option, auto value) {
      return curl_.setopt(handle_, option, value) == CURLE_OK;
    };
    const std::string url = options_.url + request.target;
    bool is_set = set(CURLOPT_URL, url.c_str()) && set(CURLOPT_PROTOCOLS_STR, "http,https") &&
                  set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_USERAGENT, "vesta") &&
                  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout_ms)) &&
                  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout_ms)) &&
                  set(CURLOPT_HTTPHEADER, headers) && set(CURLOPT_WRITEFUNCTION, &TakeBody) &&
                  set(CURLOPT_WRITEDATA, static_cast<void*>(exchange)) &&
                  set(CURLOPT_HEADERFUNCTION, &TakeHeader) &&
                  set(CURLOPT_HEADERDATA, static_cast<void*>(exchange));
    // A proxy of the environment does not reach this machine's own servers.
    if (IsLoopback(HostOf(options_.url))) is_set = is_set && set(CURLOPT_NOPROXY, "*");
    if (!options_.ca_file.empty()) is_set = is_set && set(CURLOPT_CAINFO, options_.ca_file.c_str());
    if (request.body != nullptr) {
      is_set = is_set && set(CURLOPT_POST, 1L) &&
               set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size())) &&
               set(CURLOPT_POSTFIELDS, request.body->data());
    }
    return is_set;
  }

  Error ErrorOf(CURLcode done, const Exchange& exchange) const {
    const std::string& url = options_.url;
    switch (done) {
      case CURLE_COULDNT_CONNECT:
        return Error(ErrorCode::kNotFound, "nobody listens at " + url);
      case CURLE_COULDNT_RESOLVE_HOST:
        return Error(ErrorCode::kUnavailable,
                     "the host of " + url + " is not known: look at --server and VESTA_SERVER");
      case CURLE_OPERATION_TIMEDOUT:
        return Error(ErrorCode::kUnavailable, url + " did not answer within " +
                                                  std::to_string(options_.timeout_ms / 1000) +
                                                  " s: ask for less, or look at what it does");
      case CURLE_PEER_FAILED_VERIFICATION:
        return Error(ErrorCode::kPermission,
                     "the certificate of " + url +
                         " is not trusted: give the file of who signed it by --ca-file");
      case CURLE_SSL_CACERT_BADFILE:
        return Error(ErrorCode::kInvalidInput,
                     "--ca-file " + options_.ca_file + " is no readable PEM file");
      case CURLE_SSL_CONNECT_ERROR:
      case CURLE_GOT_NOTHING:
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_WEIRD_SERVER_REPLY:
        return Error(ErrorCode::kUnavailable,
                     url + " does not speak " + (url.starts_with("https") ? "HTTPS" : "HTTP") +
                         ": does --server begin with the right one of http:// and https://? (" +
                         curl_.strerror(done) + ")");
      case CURLE_WRITE_ERROR:
        if (exchange.is_too_large) {
          return Error(ErrorCode::kExhausted, "the answer of " + url + " has more than " +
                                                  std::to_string(options_.answer_bytes_max) +
                                                  " bytes: ask for a shorter time or fewer series");
        }
        [[fallthrough]];
      default:
        return Error(ErrorCode::kUnavailable, "talking to " + url + ": " + curl_.strerror(done));
    }
  }

  Curl curl_;
  CURL* handle_;
  HttpClientOptions options_;
};

}  // namespace

std::string HttpResponse::Header(const std::string& name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

Result<std::unique_ptr<HttpClient>> HttpClient::Open(const HttpClientOptions& options) {
  HttpClientOptions own = options;
  while (own.url.ends_with('/')) own.url.pop_back();
  if (!own.url.starts_with("http://") && !own.url.starts_with("https://")) {
    return Error(
        ErrorCode::kInvalidInput,
        "'" + options.url + "' is no address of a server: give one such as http://127.0.0.1:7171");
  }
  if (HostOf(own.url).empty() || HasControlCharacter(own.url) ||
      own.url.find_first_of(" ?#@") != std::string::npos) {
    return Error(ErrorCode::kInvalidInput,
                 "'" + options.url + "' is no address of a server: give only its host and port");
  }
  if (HasControlCharacter(own.token) || own.token.find(' ') != std::string::npos) {
    return Error(ErrorCode::kInvalidInput, "a token is one line without spaces");
  }
  ASSIGN_OR_RETURN(const Curl curl, Curl::Load());
  CURL* handle = curl.init();
  if (handle == nullptr) return Error(ErrorCode::kUnavailable, "libcurl does not start");
  return std::unique_ptr<HttpClient>(std::make_unique<CurlClient>(curl, handle, std::move(own)));
}

std::string EscapeQuery(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (std::isalnum(byte) != 0 ||
        std::string_view("-._~").find(character) != std::string_view::npos) {
      out += character;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace vesta::client
