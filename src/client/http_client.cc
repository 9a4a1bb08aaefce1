#include "src/client/http_client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstring>

#include "src/base/ascii.h"
#include "src/base/check.h"
#include "src/base/host_name.h"
#include "src/client/curl_library.h"

namespace vesta::client {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr size_t kHeaderBytesMax = size_t{64} << 10;
constexpr uint64_t kRefusalBytesMax = uint64_t{1} << 20;  // of an answer that the sink does not get
constexpr int kPollMs = 1000;  // libcurl comes back sooner when there is something to do

// The pieces of a body as libcurl takes them away.
class BodyReader {
 public:
  explicit BodyReader(const std::vector<std::string_view>& pieces) : pieces_(pieces) {}

  uint64_t size_bytes() const {
    uint64_t bytes = 0;
    for (const std::string_view piece : pieces_) bytes += piece.size();
    return bytes;
  }
  size_t Read(char* room, size_t room_bytes) {
    size_t done = 0;
    while (done < room_bytes && piece_ < pieces_.size()) {
      const std::string_view rest = pieces_[piece_].substr(offset_);
      const size_t count = std::min(rest.size(), room_bytes - done);
      if (count > 0) std::memcpy(room + done, rest.data(), count);
      done += count;
      offset_ += count;
      if (offset_ < pieces_[piece_].size()) break;
      ++piece_;
      offset_ = 0;
    }
    return done;
  }
  // From the first byte again, on another connection.
  void Rewind() { piece_ = offset_ = 0; }

  static size_t OnRead(char* room, size_t size, size_t count, void* reader) {
    return static_cast<BodyReader*>(reader)->Read(room, size * count);
  }
  static int OnSeek(void* reader, curl_off_t offset, int origin) {
    if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    static_cast<BodyReader*>(reader)->Rewind();
    return CURL_SEEKFUNC_OK;
  }

 private:
  const std::vector<std::string_view>& pieces_;
  size_t piece_ = 0;
  size_t offset_ = 0;
};

// What comes of one exchange while it runs.
struct Exchange {
  const BodySink* sink = nullptr;
  HttpResponse response = {};
  uint64_t bytes_left = 0;
  uint64_t refusal_bytes_left = kRefusalBytesMax;
  size_t header_bytes_left = kHeaderBytesMax;
  bool is_too_large = false;
  std::optional<Error> sink_error = {};

  size_t Take(std::string_view bytes) {
    const bool to_sink = *sink && response.status / 100 == 2;
    uint64_t& left = *sink && !to_sink ? refusal_bytes_left : bytes_left;
    if (bytes.size() > left) {
      is_too_large = true;
      return 0;
    }
    left -= bytes.size();
    if (!to_sink) {
      response.body.append(bytes);
      return bytes.size();
    }
    auto taken = (*sink)(bytes);
    if (taken.ok()) return bytes.size();
    sink_error = std::move(taken).error();
    return 0;
  }
  // False when there are too many of them.
  bool TakeHeader(std::string_view line) {
    if (line.size() > header_bytes_left) return false;
    header_bytes_left -= line.size();
    // "100 Continue", redirects and the like come first; only the last answer counts.
    if (line.starts_with("HTTP/")) {
      response.headers.clear();
      response.status = StatusOf(line);
    }
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      response.headers.emplace_back(base::LowerCase(base::Trim(line.substr(0, colon))),
                                    base::Trim(line.substr(colon + 1)));
    }
    return true;
  }
  // "HTTP/1.1 200 OK"; 0 = it has none.
  static int StatusOf(std::string_view line) {
    const size_t space = line.find(' ');
    int status = 0;
    for (size_t i = space; i != std::string_view::npos && ++i < line.size() && i <= space + 3;) {
      if (line[i] < '0' || line[i] > '9') return 0;
      status = status * 10 + (line[i] - '0');
    }
    return status;
  }

  static size_t OnBody(char* bytes, size_t size, size_t count, void* exchange) {
    return static_cast<Exchange*>(exchange)->Take({bytes, size * count});
  }
  static size_t OnHeader(char* bytes, size_t size, size_t count, void* exchange) {
    const bool taken = static_cast<Exchange*>(exchange)->TakeHeader({bytes, size * count});
    return taken ? size * count : 0;
  }
};

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; });
}

// "127.0.0.1" of "http://127.0.0.1:7171/x".
std::string_view HostOfUrl(std::string_view url) {
  const std::string_view authority = url.substr(url.find("://") + 3);
  return base::HostOf(authority.substr(0, authority.find('/')));
}

std::string DurationText(uint64_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

// The lines that are sent before a body.
class HeaderList {
 public:
  explicit HeaderList(const CurlLibrary& curl) : curl_(curl) {}
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() { curl_.slist_free_all(lines_); }

  bool Add(const std::string& line) {
    curl_slist* longer = curl_.slist_append(lines_, line.c_str());
    if (longer == nullptr) return false;
    lines_ = longer;
    return true;
  }
  curl_slist* lines() const { return lines_; }

 private:
  const CurlLibrary& curl_;
  curl_slist* lines_ = nullptr;
};

class CurlClient : public HttpClient {
 public:
  CurlClient(const CurlLibrary& curl, HttpClientOptions options)
      : curl_(curl),
        options_(std::move(options)),
        easy_(curl.easy_init()),
        multi_(curl.multi_init()) {}
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;
  ~CurlClient() override {
    curl_.easy_cleanup(easy_);
    curl_.multi_cleanup(multi_);
  }
  bool is_ready() const { return easy_ != nullptr && multi_ != nullptr; }

  Result<HttpResponse> Send(const HttpRequest& request) override {
    curl_.easy_reset(easy_);
    reason_[0] = '\0';
    Exchange exchange{.sink = &request.sink, .bytes_left = options_.answer_bytes_max};
    HeaderList headers(curl_);
    bool is_set = headers.Add("Expect:");  // our servers read at once
    if (!options_.token.empty())
      is_set = is_set && headers.Add("Authorization: Bearer " + options_.token);
    for (const auto& [name, value] : request.headers) {
      if (HasControlCharacter(name) || HasControlCharacter(value))
        return Error(ErrorCode::kInvalidInput, "a header would hold a control character");
      is_set = is_set && headers.Add(name + ": " + value);
    }
    const std::string url = options_.url + request.target;
    is_set = is_set && Set(CURLOPT_URL, url.c_str()) && Set(CURLOPT_HTTPHEADER, headers.lines()) &&
             SetConnection() && SetAnswer(&exchange);
    std::optional<BodyReader> body;
    if (request.body) {
      body.emplace(*request.body);
      is_set = is_set && SetBody(&*body);
    }
    const CURLcode done = is_set ? Perform() : CURLE_UNKNOWN_OPTION;
    if (exchange.sink_error) return std::move(*exchange.sink_error);
    if (done != CURLE_OK) return ErrorOf(done, exchange);
    curl_off_t retry_after_s = 0;
    curl_.easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &retry_after_s);
    exchange.response.retry_after_s = static_cast<uint64_t>(std::max<curl_off_t>(retry_after_s, 0));
    return std::move(exchange.response);
  }

  void Cancel() override {
    is_cancelled_ = true;
    curl_.multi_wakeup(multi_);
  }

 private:
  template <typename Value>
  bool Set(CURLoption option, Value value) {
    return curl_.easy_setopt(easy_, option, value) == CURLE_OK;
  }

  bool SetConnection() {
    bool is_set = Set(CURLOPT_PROTOCOLS_STR, "http,https") && Set(CURLOPT_NOSIGNAL, 1L) &&
                  Set(CURLOPT_ERRORBUFFER, reason_.data()) && Set(CURLOPT_USERAGENT, "vesta") &&
                  Set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout_ms)) &&
                  Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout_ms));
    // A proxy of the environment does not reach this machine's own servers.
    if (base::IsLoopback(HostOfUrl(options_.url))) is_set = is_set && Set(CURLOPT_NOPROXY, "*");
    if (!options_.ca_file.empty()) is_set = is_set && Set(CURLOPT_CAINFO, options_.ca_file.c_str());
    if (options_.redirects_max == 0) return is_set;
    return is_set && Set(CURLOPT_FOLLOWLOCATION, 1L) &&
           Set(CURLOPT_MAXREDIRS, static_cast<long>(options_.redirects_max)) &&
           Set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  }

  bool SetAnswer(Exchange* exchange) {
    const uint64_t bytes_max = std::min<uint64_t>(options_.answer_bytes_max, INT64_MAX);
    return Set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(bytes_max)) &&
           Set(CURLOPT_WRITEFUNCTION, &Exchange::OnBody) &&
           Set(CURLOPT_WRITEDATA, static_cast<void*>(exchange)) &&
           Set(CURLOPT_HEADERFUNCTION, &Exchange::OnHeader) &&
           Set(CURLOPT_HEADERDATA, static_cast<void*>(exchange));
  }

  bool SetBody(BodyReader* body) {
    return Set(CURLOPT_POST, 1L) &&
           Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size_bytes())) &&
           Set(CURLOPT_READFUNCTION, &BodyReader::OnRead) &&
           Set(CURLOPT_READDATA, static_cast<void*>(body)) &&
           Set(CURLOPT_SEEKFUNCTION, &BodyReader::OnSeek) &&
           Set(CURLOPT_SEEKDATA, static_cast<void*>(body));
  }

  // As curl_easy_perform, but that Cancel wakes it.
  CURLcode Perform() {
    if (curl_.multi_add_handle(multi_, easy_) != CURLM_OK) return CURLE_FAILED_INIT;
    CURLcode done = CURLE_FAILED_INIT;
    for (int running = 1; running != 0;) {
      if (is_cancelled_) {
        done = CURLE_ABORTED_BY_CALLBACK;
        break;
      }
      if (curl_.multi_perform(multi_, &running) != CURLM_OK) break;
      if (running != 0 && curl_.multi_poll(multi_, nullptr, 0, kPollMs, nullptr) != CURLM_OK) break;
    }
    int left = 0;
    while (const CURLMsg* message = curl_.multi_info_read(multi_, &left))
      if (message->msg == CURLMSG_DONE) done = message->data.result;
    curl_.multi_remove_handle(multi_, easy_);
    return done;
  }

  // What libcurl says of this failure, or of all of its kind.
  std::string ReasonOf(CURLcode done) const {
    return reason_[0] != '\0' ? reason_.data() : curl_.easy_strerror(done);
  }

  Error ErrorOf(CURLcode done, const Exchange& exchange) const {
    const std::string& url = options_.url;
    switch (done) {
      case CURLE_COULDNT_CONNECT:
        return Error(ErrorCode::kNotFound, "nobody listens at " + url);
      case CURLE_COULDNT_RESOLVE_HOST:
        return Error(ErrorCode::kUnavailable, "the host of " + url + " is not known");
      case CURLE_OPERATION_TIMEDOUT:
        return Error(ErrorCode::kUnavailable,
                     url + " did not answer within " + DurationText(options_.timeout_ms));
      case CURLE_ABORTED_BY_CALLBACK:
        return Error(ErrorCode::kUnavailable, "talking to " + url + " was cancelled");
      case CURLE_PEER_FAILED_VERIFICATION:
        return Error(ErrorCode::kPermission,
                     "the certificate of " + url + " is not trusted (" + ReasonOf(done) + ")");
      case CURLE_SSL_CACERT_BADFILE:
        return Error(ErrorCode::kInvalidInput,
                     options_.ca_file + " is no readable PEM file of certificates");
      case CURLE_GOT_NOTHING:  // it ended just now, or wants the other one
        return Error(ErrorCode::kUnavailable,
                     url +
                         " ended the connection without an answer: is it the right one of http:// "
                         "and https://? (" +
                         ReasonOf(done) + ")");
      case CURLE_PARTIAL_FILE:
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
        return Error(
            ErrorCode::kUnavailable,
            url + " ended the connection before its answer was whole (" + ReasonOf(done) + ")");
      case CURLE_SSL_CONNECT_ERROR:
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_WEIRD_SERVER_REPLY:
        return Error(ErrorCode::kUnavailable,
                     url + " does not speak " + (url.starts_with("https") ? "HTTPS" : "HTTP") +
                         ": is it the right one of http:// and https://? (" + ReasonOf(done) + ")");
      case CURLE_WRITE_ERROR:
      case CURLE_FILESIZE_EXCEEDED:
        if (exchange.is_too_large || done == CURLE_FILESIZE_EXCEEDED) {
          return Error(ErrorCode::kExhausted, "the answer of " + url + " has more than " +
                                                  std::to_string(options_.answer_bytes_max) +
                                                  " bytes");
        }
        [[fallthrough]];
      default:
        return Error(ErrorCode::kUnavailable, "talking to " + url + ": " + ReasonOf(done));
    }
  }

  const CurlLibrary& curl_;
  HttpClientOptions options_;
  CURL* easy_;
  CURLM* multi_;  // keeps the connection
  std::array<char, CURL_ERROR_SIZE> reason_ = {};
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace

std::string HttpResponse::Header(const std::string& name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

Result<std::unique_ptr<HttpClient>> HttpClient::Open(const HttpClientOptions& options) {
  CHECK(options.token.empty() || options.redirects_max == 0);
  HttpClientOptions own = options;
  while (own.url.ends_with('/')) own.url.pop_back();
  if (!own.url.starts_with("http://") && !own.url.starts_with("https://")) {
    return Error(
        ErrorCode::kInvalidInput,
        "'" + options.url + "' is no address of a server: give one such as http://127.0.0.1:7171");
  }
  if (HostOfUrl(own.url).empty() || HasControlCharacter(own.url) ||
      own.url.find_first_of(" ?#@") != std::string::npos) {
    return Error(ErrorCode::kInvalidInput,
                 "'" + options.url + "' is no address of a server: give only its host and port");
  }
  if (HasControlCharacter(own.token) || own.token.find(' ') != std::string::npos) {
    return Error(ErrorCode::kInvalidInput, "a token is one line without spaces");
  }
  ASSIGN_OR_RETURN(const CurlLibrary* curl, CurlLibrary::Get());
  auto client = std::make_unique<CurlClient>(*curl, std::move(own));
  if (!client->is_ready()) return Error(ErrorCode::kUnavailable, "libcurl does not start");
  return std::unique_ptr<HttpClient>(std::move(client));
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
