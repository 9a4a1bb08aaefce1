// The server's book of requests, and all its numbers as text for Prometheus and as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/server/http_server.h"
#include "src/server/senders.h"
#include "src/store/store.h"

namespace vesta::server {

// What is true now.
struct ServerState {
  std::string version;
  std::string instance;
  double uptime_seconds = 0;
  int64_t now_unix_ms = 0;
  store::StoreStatus store;
  HttpServerStatus http;
  uint64_t flight_bytes = 0;
  uint64_t resident_bytes = 0;
  double cpu_seconds = 0;
};

// Places of messages with late names. Those that are rejected never reach the store.
struct SymbolsBook {
  store::SymbolsOutcome outcome;
  uint64_t rejected = 0;
  uint64_t received() const { return outcome.locations_received + rejected; }
};

// Threads: any.
class Metrics {
 public:
  void Count(const Exchange& exchange);
  void CountSymbols(const SymbolsBook& book);
  // Shape: text format 0.0.4: # HELP and # TYPE before each family.
  // Source: prometheus.io/docs/instrumenting/exposition_formats.
  std::string Text(const ServerState& state, const std::vector<Sender>& senders) const;

 private:
  static constexpr std::array<double, 11> kBounds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                     0.25,  0.5,   1,    5,     30};  // seconds
  struct Latency {
    std::array<uint64_t, kBounds.size() + 1> buckets = {};
    double sum = 0;
    uint64_t count = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<size_t, int>, uint64_t> requests_;  // route and status
  std::map<size_t, Latency> latencies_;
  uint64_t clients_left_ = 0;
  uint64_t bytes_in_ = 0;
  uint64_t bytes_out_ = 0;
  SymbolsBook symbols_;
};

// As members of the object that is open.
void WriteSymbols(const store::SymbolsOutcome& outcome, base::JsonWriter& json);
std::string StatusJson(const ServerState& state);

// Of this process: resident memory and processor time.
void ReadProcess(ServerState& state);

}  // namespace vesta::server
