#include "src/cli/store_access.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>

#include "src/base/ascii.h"
#include "src/base/byte_source.h"
#include "src/base/calendar.h"
#include "src/base/json_reader.h"
#include "src/base/printable.h"
#include "src/cli/always_on/server_place.h"
#include "src/cli/settings/values.h"
#include "src/client/http_client.h"
#include "src/server/api.h"
#include "src/server/header_texts.h"
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

// What may help where an exchange failed.
std::string RemedyOf(ErrorCode code) {
  if (code == ErrorCode::kPermission) return ": give the file of who signed it by --ca-file";
  if (code == ErrorCode::kExhausted) return ": ask for a shorter time or fewer series";
  return "";
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

// `message` in the server's own words; "" = it has none of ours.
Error ErrorOfAnswer(int status, const std::string& message, const std::string& who) {
  if (message.empty()) {
    return Error(ErrorCode::kUnavailable, who + " answers with status " + std::to_string(status) +
                                              ", and not as a server of vesta does");
  }
  return Error(CodeOfStatus(status), message);
}

std::string MessageOf(const client::HttpResponse& response) {
  if (!response.Header("x-go-pprof").empty()) return std::string(base::Trim(response.body));
  const auto json = base::ParseJson(response.body);
  const base::JsonValue* error = json.ok() ? json->Find("error") : nullptr;
  const base::JsonValue* message = error != nullptr ? error->Find("message") : nullptr;
  return message != nullptr && message->AsString() != nullptr ? *message->AsString() : "";
}

// The texts of a header with notes.
std::vector<std::string> NotesOf(const std::string& header) {
  std::vector<std::string> notes;
  if (header.empty()) return notes;
  const auto json = base::ParseJson(header);
  if (!json.ok()) return notes;
  for (const base::JsonValue& note : json->items()) {
    if (note.AsString() != nullptr) notes.push_back(*note.AsString());
  }
  return notes;
}

bool IsBusy(const client::HttpResponse& response) {
  return response.status == 429 || response.status == 503;
}

// What Retry-After asks for, 1 to kWaitSecondsMax.
int64_t WaitSeconds(const client::HttpResponse& response) {
  return static_cast<int64_t>(std::clamp<uint64_t>(response.retry_after_s, 1, kWaitSecondsMax));
}

class HttpAccess : public StoreAccess {
 public:
  // `without` is said when nobody listens.
  HttpAccess(std::unique_ptr<client::HttpClient> client, std::string url, std::string without,
             bool has_token)
      : client_(std::move(client)),
        url_(std::move(url)),
        without_(std::move(without)),
        has_token_(has_token) {}

  Result<StoreAnswer> Ask(const StoreQuestion& question) override {
    client::HttpRequest request;
    request.target = kPrefix + EscapePath(question.path);
    char separator = '?';
    for (const auto& [name, value] : question.parameters) {
      request.target += separator + client::EscapeQuery(name) + "=" + client::EscapeQuery(value);
      separator = '&';
    }
    request.headers = question.headers;
    if (question.body) request.body = std::vector<std::string_view>{*question.body};
    auto response = client_->Send(request);
    // Too busy is no answer yet.
    for (int tries = 1; tries < kTriesMax && response.ok() && IsBusy(*response); ++tries) {
      std::this_thread::sleep_for(std::chrono::seconds(WaitSeconds(*response)));
      response = client_->Send(request);
    }
    if (!response.ok()) {
      const ErrorCode code = response.error().code();
      return Error(code, response.error().message() +
                             (code == ErrorCode::kNotFound ? without_ : RemedyOf(code)));
    }
    if (response->status == 401 && !has_token_) {
      return Error(ErrorCode::kPermission,
                   url_ + " wants a token: give the file that has it by --token-file FILE");
    }
    if (response->status != 200) return ErrorOfAnswer(response->status, MessageOf(*response), url_);
    return StoreAnswer{.body = std::move(response->body),
                       .notes = NotesOf(response->Header("vesta-notes")),
                       .is_empty = !response->Header("vesta-empty").empty()};
  }

 private:
  std::unique_ptr<client::HttpClient> client_;
  std::string url_;
  std::string without_;
  const bool has_token_;
};

class FolderAccess : public StoreAccess {
 public:
  FolderAccess(std::unique_ptr<store::DiskStore> store, const server::ApiOptions& options)
      : store_(std::move(store)), api_(*store_, options) {}

  Result<StoreAnswer> Ask(const StoreQuestion& question) override {
    server::Request request;
    request.method = question.body ? "POST" : "GET";
    request.path = kPrefix + question.path;
    for (const auto& [name, value] : question.parameters)
      request.parameters.push_back({name, value});
    for (const auto& [name, value] : question.headers)
      request.headers.push_back({base::LowerCase(name), value});
    if (question.body) request.body = *question.body;
    server::Response response = api_.Answer(request);
    if (response.status != 200)
      return ErrorOfAnswer(response.status, response.error_message, "the store");
    StoreAnswer answer{std::move(response.body), {}, false};
    for (const server::Parameter& header : response.headers) {
      if (header.name == server::kNotesHeader) answer.notes = NotesOf(header.value);
      if (header.name == server::kEmptyHeader) answer.is_empty = true;
    }
    return answer;
  }

 private:
  std::unique_ptr<store::DiskStore> store_;
  server::Api api_;
};

Result<std::unique_ptr<client::HttpClient>> OpenClient(const Settings& settings,
                                                       const std::string& url) {
  client::HttpClientOptions options;
  options.url = url;
  options.ca_file = settings.ca_file;
  options.timeout_ms = settings.query_timeout_ns / kNsPerMs + kSlackMs;
  ASSIGN_OR_RETURN(options.token, ReadTokenFile(settings.token_file));
  return client::HttpClient::Open(options);
}

Result<std::unique_ptr<StoreAccess>> OpenServer(const Settings& settings, const std::string& url,
                                                const std::string& without) {
  ASSIGN_OR_RETURN(auto client, OpenClient(settings, url));
  return std::unique_ptr<StoreAccess>(
      std::make_unique<HttpAccess>(std::move(client), url, without, !settings.token_file.empty()));
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
  options.retention.age_ms = int64_t{100} * 365 * base::kDayMs;
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

// The server that has the folder open, and no other: it is known by what it left in the folder.
Result<std::unique_ptr<StoreAccess>> OpenServerOf(const Settings& settings, const Error& locked) {
  const auto place = ReadServerPlace(settings.data);
  if (!place.ok()) {
    const bool is_known = place.error().code() == ErrorCode::kUnsupported;
    return Error(ErrorCode::kBusy,
                 locked.message() + (is_known ? "; " + place.error().message() : ""));
  }
  ASSIGN_OR_RETURN(auto access, OpenServer(settings, place->url, ""));
  const auto status = access->Ask({.path = "status"});
  if (!status.ok()) return status.error().Context(locked.message());
  const auto json = base::ParseJson(status->body);
  const base::JsonValue* instance = json.ok() ? json->Find("instance") : nullptr;
  if (instance == nullptr || instance->AsString() == nullptr ||
      *instance->AsString() != place->instance) {
    return Error(ErrorCode::kBusy,
                 locked.message() + "; the server at " + place->url + " has another folder");
  }
  return access;
}

}  // namespace

Result<std::string> ReadTokenFile(const std::string& path) {
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
                      ": start `vesta up`, or give --server URL of one that listens elsewhere, or "
                      "--data DIR of a store");
  }
  auto folder = OpenFolder(settings, use);
  if (folder.ok() || folder.error().code() != ErrorCode::kBusy) return folder;
  return OpenServerOf(settings, folder.error());
}

}  // namespace vesta::cli
