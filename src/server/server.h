// The server as a whole: a store behind HTTP, with its limits and its rules of trust.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/result.h"
#include "src/store/store.h"

namespace vesta::server {

class Senders;

// Shape: files "" = none. docs/api.md says what each limit answers.
struct ServerOptions {
  std::string version = {};               // of vesta, for /metrics and the front page
  std::string instance = {};              // tells this server from all others, for /api/v1/status
  std::string listen = "127.0.0.1:7171";  // "ADDRESS:PORT", "[::1]:PORT", "localhost:PORT"; 0 = any
  std::string tls_cert_file = {};         // PEM, with those between it and its authority
  std::string tls_key_file = {};          // PEM
  std::string token_file = {};            // src/server/access.h has its form
  bool insecure = false;                  // beyond this machine without TLS or without a token
  uint64_t query_timeout_ms = 30'000;     // from the moment that the question has come
  uint64_t query_memory_bytes = 256 << 20;  // of one question
  uint64_t body_bytes_max = 64 << 20;       // of a push, as it comes
  uint64_t plain_bytes_max = 256 << 20;     // of a push, unpacked
  uint64_t flight_bytes_max = 384 << 20;    // of all pushes at once, packed and unpacked
  uint32_t connections_max = 1000;
  // From the last answer, or from the beginning, until the next request's head is there; and the
  // time that a body or an answer has on top of one second per 64 KiB.
  uint64_t idle_timeout_ms = 30'000;
  uint64_t drain_timeout_ms = 30'000;  // for requests in flight when the server stops
};

// Serves from Start to Stop.
// Owner: any one thread; the store must outlive it.
class Server {
 public:
  // Errors: InvalidInput for an address or a combination that is refused, saying what would do;
  //         Permission, NotFound for files; Unavailable when the address is taken; Unsupported
  //         without libmicrohttpd.
  static base::Result<std::unique_ptr<Server>> Start(store::Store& store,
                                                     const ServerOptions& options);
  virtual ~Server() = default;

  // "http://127.0.0.1:7171", with the port that is really listened at.
  virtual const std::string& url() const = 0;

  // Who sent what; a sender in this process is noted there, too.
  virtual Senders& senders() = 0;

  // Takes no more connections, answers what is in flight, cancels what takes longer than the drain
  // timeout. Called once.
  virtual void Stop() = 0;
};

}  // namespace vesta::server
