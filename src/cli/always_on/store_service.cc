#include "src/cli/always_on/store_service.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "src/cli/always_on/agent_session.h"
#include "src/cli/always_on/server_place.h"

namespace vesta::cli {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kNsPerDay = 86'400'000 * kNsPerMs;
constexpr uint64_t kPlainPerPacked = 4;  // how much larger a push may be when it is unpacked
constexpr uint64_t kPushesInFlight = 6;  // of the largest size, packed

// Descriptors that the store and the server have for themselves: files of parts and days that are
// open, logs, threads' files. Connections get what is left.
constexpr uint64_t kOwnDescriptors = 512;

// However small the limit is, connections cannot take what the store needs to read its files.
uint32_t ConnectionsMax(uint32_t wanted) {
  RaiseFileLimit();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const uint64_t own = std::min<uint64_t>(kOwnDescriptors, limit.rlim_cur / 2);
  return static_cast<uint32_t>(std::clamp<uint64_t>(limit.rlim_cur - own, 1, wanted));
}

server::ServerOptions HttpOptions(const Settings& settings) {
  server::ServerOptions http;
  http.version = VESTA_VERSION;
  http.instance = NewInstance();
  http.listen = settings.listen;
  http.tls_cert_file = settings.tls_cert;
  http.tls_key_file = settings.tls_key;
  http.token_file = settings.token_file;
  http.insecure = settings.insecure;
  http.query_timeout_ms = settings.query_timeout_ns / kNsPerMs;
  http.query_memory_bytes = settings.query_memory_bytes;
  http.body_bytes_max = settings.push_bytes;
  http.plain_bytes_max = kPlainPerPacked * settings.push_bytes;
  http.connections_max = ConnectionsMax(http.connections_max);
  http.flight_bytes_max = kPushesInFlight * settings.push_bytes;
  return http;
}

base::Result<std::unique_ptr<store::DiskStore>> OpenStore(const Settings& settings,
                                                          const Log& log) {
  if (kNsPerDay % settings.part_ns != 0) {
    return base::Error(base::ErrorCode::kInvalidInput, "--store-part-time must divide a day");
  }
  store::DiskStoreOptions disk;
  disk.folder = settings.data;
  disk.retention.age_ms = static_cast<int64_t>(settings.retention_ns / kNsPerMs);
  disk.retention.bytes_max = settings.retention_bytes;
  disk.series_max = settings.series_max;
  disk.part_rows_max = settings.part_rows;
  disk.part_ms = static_cast<int64_t>(settings.part_ns / kNsPerMs);
  disk.idle_ms = static_cast<int64_t>(settings.idle_ns / kNsPerMs);
  disk.seal_idle_ms = std::min(disk.seal_idle_ms, disk.idle_ms);
  disk.day_grace_ms = static_cast<int64_t>(settings.grace_ns / kNsPerMs);
  disk.on_notice = log;
  return store::DiskStore::Open(std::move(disk));
}

}  // namespace

base::Result<std::unique_ptr<StoreService>> StoreService::Start(const Settings& settings,
                                                                const Log& log) {
  std::unique_ptr<StoreService> service(new StoreService);
  ASSIGN_OR_RETURN(service->store_, OpenStore(settings, log));
  const server::ServerOptions http = HttpOptions(settings);
  ASSIGN_OR_RETURN(service->server_, server::Server::Start(*service->store_, http));
  service->folder_ = settings.data;
  const auto told = WriteServerPlace(settings.data, {service->server_->url(), http.instance});
  if (!told.ok()) {
    log("commands with --data will not find this server: " + told.error().message());
  }
  return service;
}

void StoreService::Stop() {
  if (server_ == nullptr) return;
  server_->Stop();
  server_.reset();
  RemoveServerPlace(folder_);
  store_->RefuseAppends();
}

StoreService::~StoreService() { Stop(); }

}  // namespace vesta::cli
