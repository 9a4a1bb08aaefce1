// `vesta server`: the store in a folder behind HTTP, until a signal.

#include "src/server/server.h"

#include <signal.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "src/base/printable.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/store/disk/disk_store.h"

namespace vesta::cli {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kNsPerDay = 86'400'000 * kNsPerMs;
constexpr uint64_t kPlainPerPacked = 4;  // how much larger a push may be when it is unpacked
constexpr uint64_t kPushesInFlight = 6;  // of the largest size, packed

std::atomic<bool> stop_asked{false};  // the signal handler's only word

// Supervisors may send a signal twice, so a second one changes nothing: draining has its limit.
void CatchSignals() {
  struct sigaction action{};
  action.sa_handler = [](int) { stop_asked.store(true); };
  for (const int signal : {SIGTERM, SIGINT}) ::sigaction(signal, &action, nullptr);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
}

server::ServerOptions HttpOptions(const ServerOptions& options) {
  server::ServerOptions http;
  http.version = VESTA_VERSION;
  http.listen = options.listen;
  http.tls_cert_file = options.tls_cert;
  http.tls_key_file = options.tls_key;
  http.token_file = options.token_file;
  http.insecure = options.insecure;
  http.query_timeout_ms = options.query_timeout_ns / kNsPerMs;
  http.query_memory_bytes = options.query_memory_bytes;
  http.body_bytes_max = options.push_bytes;
  http.plain_bytes_max = kPlainPerPacked * options.push_bytes;
  http.flight_bytes_max = kPushesInFlight * options.push_bytes;
  return http;
}

base::Result<void> Serve(const ServerOptions& options) {
  if (kNsPerDay % options.part_ns != 0) {
    return base::Error(base::ErrorCode::kInvalidInput, "--store-part-time must divide a day");
  }
  store::DiskStoreOptions disk;
  disk.folder = options.data;
  disk.retention.age_ms = static_cast<int64_t>(options.retention_ns / kNsPerMs);
  disk.retention.bytes_max = options.retention_bytes;
  disk.series_max = options.series_max;
  disk.part_rows_max = options.part_rows;
  disk.part_ms = static_cast<int64_t>(options.part_ns / kNsPerMs);
  disk.idle_ms = static_cast<int64_t>(options.idle_ns / kNsPerMs);
  disk.day_grace_ms = static_cast<int64_t>(options.grace_ns / kNsPerMs);
  disk.on_notice = [](const std::string& sentence) {
    std::fprintf(stderr, "vesta server: %s\n", base::Printable(sentence).c_str());
  };
  ASSIGN_OR_RETURN(const auto store, store::DiskStore::Open(std::move(disk)));
  const auto ready = [&options](const std::string& url) {
    if (options.quiet) return;
    std::printf("ready at %s, profiles are in %s\n", url.c_str(),
                base::Printable(options.data).c_str());
    std::fflush(stdout);
  };
  auto served = server::Serve(*store, HttpOptions(options), ready, stop_asked);
  store->RefuseAppends();
  return served;
}

}  // namespace

int RunServer(const ServerOptions& options) {
  CatchSignals();
  const auto done = Serve(options);
  return done.ok() ? 0 : ReportFailure("server", done.error());
}

}  // namespace vesta::cli
