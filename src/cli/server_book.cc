#include "src/cli/server_book.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/ascii.h"
#include "src/base/byte_source.h"
#include "src/base/json_reader.h"
#include "src/cli/store_access.h"
#include "src/client/http_client.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::JsonValue;
using base::Result;

constexpr char kUsualServer[] = "http://127.0.0.1:7171";
constexpr uint64_t kTimeoutMs = 5'000;
constexpr uint64_t kAnswerBytesMax = 64 << 20;
constexpr size_t kIdBytesMax = 4096;

Result<JsonValue> Get(client::HttpClient& client, const std::string& url, const char* target) {
  ASSIGN_OR_RETURN(const client::HttpResponse response, client.Send({.target = target}));
  if (response.status == 401 || response.status == 403) {
    return Error(ErrorCode::kPermission, url + " does not take our token: give --token-file FILE");
  }
  if (response.status != 200) {
    return Error(ErrorCode::kUnavailable, url + " answers with status " +
                                              std::to_string(response.status) +
                                              ": is that the address of a vesta server?");
  }
  return base::ParseJson(response.body).Context(url + target);
}

// 0 for what is not there: a server of another version.
uint64_t Number(const JsonValue* object, std::string_view key) {
  const JsonValue* value = object == nullptr ? nullptr : object->Find(key);
  return value == nullptr ? 0 : value->AsUint().value_or(0);
}

// The agent's own entry; null when it was not heard of.
const JsonValue* FindAgent(const JsonValue& document, std::string_view id) {
  const JsonValue* agents = document.Find("agents");
  if (agents == nullptr || id.empty()) return nullptr;
  for (const JsonValue& agent : agents->items()) {
    const JsonValue* its = agent.Find("agent");
    if (its != nullptr && its->AsString() != nullptr && *its->AsString() == id) return &agent;
  }
  return nullptr;
}

book::ServerCounts CountsOf(const JsonValue& agent, const JsonValue& status) {
  book::ServerCounts counts;
  const JsonValue* rows = agent.Find("rows");
  counts.received = Number(rows, "received");
  counts.kept = Number(rows, "kept");
  counts.duplicate = Number(rows, "duplicate");
  counts.empty = Number(rows, "empty");
  counts.dropped = Number(rows, "rejected") + Number(rows, "too_old") + Number(rows, "too_new");
  const JsonValue* delivered = agent.Find("delivered");
  counts.is_compared = delivered != nullptr && delivered->kind() == JsonValue::Kind::kObject;
  if (counts.is_compared) {
    counts.acknowledged = Number(delivered, "acknowledged");
    counts.taken = Number(delivered, "taken");
    counts.taken_again = Number(delivered, "taken_again");
    counts.waiting = Number(delivered, "waiting");
  }
  const JsonValue* book = status.Find("book");
  counts.store_received = Number(book, "rows_received");
  counts.store_kept = Number(book, "rows_kept");
  counts.store_duplicate = Number(book, "rows_duplicate");
  counts.store_dropped = Number(book, "rows_too_old") + Number(book, "rows_too_new");
  counts.store_expired = Number(book, "rows_expired");
  counts.store_quarantined = Number(book, "rows_quarantined");
  counts.store_rows = Number(status.Find("store"), "rows");
  return counts;
}

Result<std::optional<book::ServerCounts>> Ask(const Settings& settings, const std::string& url) {
  ASSIGN_OR_RETURN(const std::string id_line,
                   base::ReadSmallFile(settings.state_dir + "/agent_id", kIdBytesMax));
  client::HttpClientOptions options;
  options.url = url;
  options.ca_file = settings.ca_file;
  options.timeout_ms = kTimeoutMs;
  options.answer_bytes_max = kAnswerBytesMax;
  ASSIGN_OR_RETURN(options.token, ReadTokenFile(settings.token_file));
  ASSIGN_OR_RETURN(const auto client, client::HttpClient::Open(options));
  ASSIGN_OR_RETURN(const JsonValue agents, Get(*client, url, "/api/v1/agents"));
  const JsonValue* agent = FindAgent(agents, base::Trim(id_line));
  if (agent == nullptr) return std::optional<book::ServerCounts>();
  ASSIGN_OR_RETURN(const JsonValue status, Get(*client, url, "/api/v1/status"));
  return std::optional<book::ServerCounts>(CountsOf(*agent, status));
}

}  // namespace

ServerBook AskServerBook(const Settings& settings) {
  ServerBook book;
  book.url = settings.server_url == "auto" ? kUsualServer : settings.server_url;
  auto counts = Ask(settings, book.url);
  if (!counts.ok()) {
    book.error = counts.error().message();
    if (counts.error().code() == ErrorCode::kNotFound) {
      book.error += ": give the address of the agent's server by --server URL";
    }
    return book;
  }
  book.counts = std::move(counts).value();
  return book;
}

}  // namespace vesta::cli
