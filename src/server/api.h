// What each path answers, from a request to a response without sockets: the server and the command
// line, which opens a store of its own, ask the same.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "src/base/byte_budget.h"
#include "src/server/http_server.h"
#include "src/server/message.h"
#include "src/server/metrics.h"
#include "src/server/senders.h"
#include "src/store/store.h"

namespace vesta::server {

struct ApiOptions {
  std::string version = {};
  std::string instance = {};
  bool is_tls = false;
  uint64_t query_timeout_ms = 30'000;
  uint64_t query_memory_bytes = 256 << 20;  // of one question
  // Of all questions together; nothing = only each has a limit.
  base::ByteBudget* questions_memory = nullptr;
  uint64_t body_bytes_max = 64 << 20;
  uint64_t plain_bytes_max = 256 << 20;
  std::function<int64_t()> now_unix_ms = nullptr;  // nothing = the system's clock
};

// What an answer may use.
struct AnswerContext {
  const std::atomic<bool>* cancelled = nullptr;
  BudgetShare* share = nullptr;  // nothing = only the limits of each request count
};

// Threads: any number may ask at once.
class Api {
 public:
  Api(store::Store& store, ApiOptions options);

  // Of any path; docs/api.md tells them and the statuses.
  Response Answer(const Request& request) { return Answer(request, {}); }
  Response Answer(const Request& request, const AnswerContext& context);

  // The server is going away: /readyz says so.
  void SetDraining() { is_draining_ = true; }
  // What /metrics and /api/v1/status tell of the sockets.
  void SetHttp(const HttpServer* http, const ByteBudget* budget) {
    budget_ = budget;
    http_ = http;
  }
  Metrics& metrics() { return metrics_; }
  Senders& senders() { return senders_; }
  const ApiOptions& options() const { return options_; }

 private:
  Response AnswerRoute(const Request& request, const AnswerContext& context);
  Response Ready();
  ServerState State() const;

  store::Store& store_;
  const ApiOptions options_;
  Metrics metrics_;
  Senders senders_;
  const std::chrono::steady_clock::time_point started_;
  std::atomic<bool> is_draining_ = false;
  std::atomic<const HttpServer*> http_ = nullptr;
  std::atomic<const ByteBudget*> budget_ = nullptr;
};

}  // namespace vesta::server
