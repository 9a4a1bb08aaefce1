// The store of a folder as `vesta server` and `vesta up` keep it: opened and put behind HTTP as the
// settings say.
#pragma once

#include <memory>
#include <string>

#include "src/base/result.h"
#include "src/cli/always_on/log.h"
#include "src/cli/settings/options.h"
#include "src/server/server.h"
#include "src/store/disk/disk_store.h"

namespace vesta::cli {

// The settings of the store and of HTTP are read; their data names the folder.
// Owner: one thread.
class StoreService {
 public:
  // Listens when it returns, and commands with --data find it.
  // Errors: InvalidInput for settings; as DiskStore::Open, Server::Start.
  static base::Result<std::unique_ptr<StoreService>> Start(const Settings& settings,
                                                           const Log& log);
  // Stops if that was not done.
  ~StoreService();
  StoreService(const StoreService&) = delete;
  StoreService& operator=(const StoreService&) = delete;

  store::DiskStore& store() { return *store_; }
  server::Server& server() { return *server_; }

  // Answers what was asked by now, then refuses what is pushed.
  void Stop();

 private:
  StoreService() = default;

  std::string folder_;
  std::unique_ptr<store::DiskStore> store_;
  std::unique_ptr<server::Server> server_;
};

}  // namespace vesta::cli
