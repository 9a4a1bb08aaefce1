#include "src/cli/store_access.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>

#include "src/base/byte_source.h"
#include "src/base/json_reader.h"
#include "src/base/printable.h"
#include "src/cli/values.h"
#include "src/client/http_client.h"
#include "src/server/api.h"
#include "src/store/disk/disk_store.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr char kUsualServer[] = "http://127.0.0.1:7171";
constexpr char kPrefix[] = "/api/v1/";
constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kSlackMs = 10'000;  // for the way to the server and back
constexpr int kTriesMax = 4;           // of a server that says that it is busy
constexpr uint64_t kWaitSecondsMax = 5;
constexpr size_t kTokenFileBytesMax = size_t{1} << 16;

ErrorCode CodeOfStatus(int status) {
  switch (status) {
    case 400:
    case 405:
    case 422:
      return ErrorCode::kInvalidInput;
    case 401:
    case 403:
      return ErrorCode::kPermission;
    case 404:
      return ErrorCode::kNotFound;
    case 413:
    case 504:
      return ErrorCode::kExhausted;
    case 415:
      return ErrorCode::kUnsupported;
    case 408:
    case 429:
    case 503:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

// Every step between slashes escaped.
std::string EscapePath(std::string_view path) {
  std::string escaped;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    if (start > 0) escaped += '/';
    escaped += client::EscapeQuery(path.substr(start, end - start));
    start = end + 1;
  }
  return escaped;
}

// The server's own words; an answer of something else has none of ours.
Error ErrorOfAnswer(int status, const std::string& body, const std::string& who) {
  const auto json = base::ParseJson(body);
  const base::JsonValue* error = json.ok() ? json->Find("error") : nullptr;
  const base::JsonValue* message = error != nullptr ? error->Find("message") : nullptr;
  if (message == nullptr || message->AsString() == nullptr) {
    return Error(ErrorCode::kUnavailable, who + " answers with status " + std::to_string(status) +
                                              ", and not as a server of vesta does");
  }
  const std::string remedy = status == 401 ? ": give its token by --token-file FILE" : "";
  return Error(CodeOfStatus(status), *message->AsString() + remedy);
}

bool IsBusy(const client::HttpResponse& response) {
  return response.status == 429 || response.status == 503;
}

// What Retry-After asks for, 1 to kWaitSecondsMax.
int64_t WaitSeconds(const client::HttpResponse& response) {
  const auto wanted = ParseCount(response.Header("retry-after"));
  return wanted.ok() ? static_cast<int64_t>(std::clamp<uint64_t>(*wanted, 1, kWaitSecondsMax)) : 1;
}

class HttpAccess : public StoreAccess {
 public:
  // `without` is said when nobody listens.
  HttpAccess(std::unique_ptr<client::HttpClient> client, std::string url, std::string without)
      : client_(std::move(client)), url_(std::move(url)), without_(std::move(without)) {}

  Result<std::string> Ask(const StoreQuestion& question) override {
    client::HttpRequest request;
    request.target = kPrefix + EscapePath(question.path);
    char separator = '?';
    for (const auto& [name, value] : question.parameters) {
      request.target += separator + client::EscapeQuery(name) + "=" + client::EscapeQuery(value);
      separator = '&';
    }
    request.headers = question.headers;
    if (question.body) request.body = &*question.body;
    auto response = client_->Send(request);
    // Too busy is no answer yet.
    for (int tries = 1; tries < kTriesMax && response.ok() && IsBusy(*response); ++tries) {
      std::this_thread::sleep_for(std::chrono::seconds(WaitSeconds(*response)));
      response = client_->Send(request);
    }
    if (!response.ok()) {
      if (response.error().code() != ErrorCode::kNotFound) return response.error();
      return Error(ErrorCode::kNotFound, response.error().message() + without_);
    }
    if (response->status != 200) return ErrorOfAnswer(response->status, response->body, url_);
    return std::move(response->body);
  }

 private:
  std::unique_ptr<client::HttpClient> client_;
  std::string url_;
  std::string without_;
};

class FolderAccess : public StoreAccess {
 public:
  FolderAccess(std::unique_ptr<store::DiskStore> store, const server::ApiOptions& options)
      : store_(std::move(store)), api_(*store_, options) {}

  Result<std::string> Ask(const StoreQuestion& question) override {
    server::Request request;
    request.method = question.body ? "POST" : "GET";
    request.path = kPrefix + question.path;
    for (const auto& [name, value] : question.parameters)
      request.parameters.push_back({name, value});
    for (const auto& [name, value] : question.headers)
      request.headers.push_back({server::LowerCase(name), value});
    if (question.body) request.body = *question.body;
    server::Response response = api_.Answer(request);
    if (response.status != 200) return ErrorOfAnswer(response.status, response.body, "the store");
    return std::move(response.body);
  }

 private:
  std::unique_ptr<store::DiskStore> store_;
  server::Api api_;
};

// The first token of a file as `vesta server` reads it: a line may have what it is good for behind
// it.
Result<std::string> ReadToken(const std::string& path) {
  if (path.empty()) return std::string();
  auto text = base::ReadSmallFile(path, kTokenFileBytesMax);
  if (!text.ok()) return std::move(text).Context("--token-file");
  for (size_t start = 0; start < text->size();) {
    const size_t end = std::min(text->find('\n', start), text->size());
    const std::string line = text->substr(start, end - start);
    start = end + 1;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    return line.substr(first, line.find_first_of(" \t\r", first) - first);
  }
  return Error(ErrorCode::kInvalidInput, "--token-file " + path + " has no token in it");
}

Result<std::unique_ptr<client::HttpClient>> OpenClient(const Settings& settings,
                                                       const std::string& url) {
  client::HttpClientOptions options;
  options.url = url;
  options.ca_file = settings.ca_file;
  options.timeout_ms = settings.query_timeout_ns / kNsPerMs + kSlackMs;
  ASSIGN_OR_RETURN(options.token, ReadToken(settings.token_file));
  return client::HttpClient::Open(options);
}

Result<std::unique_ptr<StoreAccess>> OpenServer(const Settings& settings, const std::string& url,
                                                const std::string& without) {
  ASSIGN_OR_RETURN(auto client, OpenClient(settings, url));
  return std::unique_ptr<StoreAccess>(
      std::make_unique<HttpAccess>(std::move(client), url, without));
}

Result<bool> NobodyListens(const Settings& settings) {
  ASSIGN_OR_RETURN(const auto client, OpenClient(settings, settings.server_url));
  const auto response = client->Send({.target = "/healthz"});
  return !response.ok() && response.error().code() == ErrorCode::kNotFound;
}

// Who opens a folder beside its server must not throw away what that one would keep: nothing is
// retired here.
store::DiskStoreOptions FolderOptions(const std::string& folder, StoreUse use) {
  store::DiskStoreOptions options;
  options.folder = folder;
  options.retention.age_ms = int64_t{100} * 365 * 86'400'000;
  options.retention.bytes_max = std::numeric_limits<uint64_t>::max();
  options.retention.disk_full_share = 1;
  if (use == StoreUse::kRead) options.maintenance_period_ms = 0;
  options.on_notice = [](const std::string& sentence) {
    std::fprintf(stderr, "vesta: %s\n", base::Printable(sentence).c_str());
  };
  return options;
}

Result<std::unique_ptr<StoreAccess>> OpenFolder(const Settings& settings, StoreUse use) {
  struct stat status{};
  if (use == StoreUse::kRead && ::stat((settings.data + "/FORMAT").c_str(), &status) != 0) {
    return Error(ErrorCode::kNotFound, "there is no store in " + settings.data +
                                           ": `vesta import FILE --data DIR` and `vesta server "
                                           "--data DIR` make one");
  }
  ASSIGN_OR_RETURN(auto store, store::DiskStore::Open(FolderOptions(settings.data, use)));
  server::ApiOptions options;
  options.query_timeout_ms = settings.query_timeout_ns / kNsPerMs;
  options.query_memory_bytes = settings.query_memory_bytes;
  return std::unique_ptr<StoreAccess>(std::make_unique<FolderAccess>(std::move(store), options));
}

}  // namespace

Result<std::unique_ptr<StoreAccess>> OpenStoreAccess(const Settings& settings, StoreUse use) {
  if (settings.server_url != "auto" && !settings.data_first) {
    if (!settings.data.empty()) {
      ASSIGN_OR_RETURN(const bool is_alone, NobodyListens(settings));
      if (is_alone) return OpenFolder(settings, use);
    }
    return OpenServer(settings, settings.server_url,
                      ": start `vesta server --data DIR` there, or leave --server and "
                      "VESTA_SERVER away and give --data DIR");
  }
  if (settings.data.empty()) {
    return OpenServer(settings, kUsualServer,
                      ": start `vesta server --data DIR`, or give --data DIR of a store that no "
                      "server has open");
  }
  auto folder = OpenFolder(settings, use);
  if (folder.ok() || folder.error().code() != ErrorCode::kUnavailable) return folder;
  // Another process has it: most likely the server of this machine.
  const std::string server = settings.server_url == "auto" ? kUsualServer : settings.server_url;
  if (!settings.quiet) {
    std::fprintf(stderr, "vesta: %s is open in another process; asking %s\n",
                 base::Printable(settings.data).c_str(), base::Printable(server).c_str());
  }
  return OpenServer(settings, server, ", and " + folder.error().message());
}

}  // namespace vesta::cli
