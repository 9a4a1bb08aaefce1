// Requests from sockets to a handler, and its answers back: the only part that knows the library
// libmicrohttpd, which is loaded when the first server starts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "src/base/byte_budget.h"
#include "src/base/result.h"
#include "src/server/access.h"
#include "src/server/message.h"

namespace vesta::server {

using base::BudgetShare;
using base::ByteBudget;

// Where a request is worked on. Slow questions cannot keep pushes waiting, nor both the health
// checks.
enum class Lane : uint8_t { kPush, kQuestion, kStatus, kAtOnce };
inline constexpr size_t kLaneCount = 3;  // those with threads

struct Admission {
  std::optional<Response> refusal = std::nullopt;  // then nothing else counts
  size_t route = 0;                                // for RequestHandler::Count
  Lane lane = Lane::kAtOnce;
  uint64_t body_bytes_max = 0;
  bool client_may_cancel = false;  // by hanging up
};

// What became of a request.
struct Exchange {
  size_t route = 0;
  int status = 0;  // 0 = the client was gone, or too slow, before an answer
  double seconds = 0;
  uint64_t bytes_in = 0;  // of bodies
  uint64_t bytes_out = 0;
  bool client_left = false;
};

// Threads: Admit and Count on one thread, which must not be kept; Answer on many at once.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // `head` lacks the body.
  virtual Admission Admit(const Request& head) = 0;
  // `share` has paid for the body and takes what is needed beyond it.
  virtual Response Answer(Request& request, const Admission& admission, BudgetShare& share,
                          const std::atomic<bool>& cancelled) = 0;
  virtual void Count(const Exchange& exchange) = 0;
};

struct HttpServerOptions {
  ListenAddress address = {};
  std::string tls_certificate = {};  // PEM; "" = no TLS
  std::string tls_key = {};
  uint32_t connections_max = 1000;
  uint64_t idle_timeout_ms = 30'000;
  uint64_t drain_timeout_ms = 30'000;
  std::array<size_t, kLaneCount> lane_threads = {4, 4, 1};
  size_t lane_queued_max = 64;
};

struct HttpServerStatus {
  size_t connections = 0;
  uint64_t connections_too_slow = 0;
  std::array<size_t, kLaneCount> queued = {};
};

// Shape: what is no HTTP is answered by the library with 400; a client that takes too long to send
//        or to take is disconnected: see ServerOptions::idle_timeout_ms.
// Owner: any one thread; the handler and the budget must outlive it.
class HttpServer {
 public:
  // Errors: as Server::Start.
  static base::Result<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                         RequestHandler& handler,
                                                         ByteBudget& budget);
  virtual ~HttpServer() = default;
  virtual uint16_t port() const = 0;
  virtual HttpServerStatus status() const = 0;  // any thread
  // As Server::Stop; the destructor does the same.
  virtual void Stop() = 0;
};

}  // namespace vesta::server
