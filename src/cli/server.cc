// `vesta server`: the store in a folder behind HTTP, until a signal.

#include <cstdio>
#include <string>

#include "src/base/printable.h"
#include "src/cli/always_on/agent_session.h"
#include "src/cli/always_on/log.h"
#include "src/cli/always_on/store_service.h"
#include "src/cli/output.h"
#include "src/cli/run.h"

namespace vesta::cli {
namespace {

base::Result<void> Serve(const ServerOptions& options) {
  const StopSignals signals;
  ASSIGN_OR_RETURN(const auto service, StoreService::Start(options, LogOf("server")));
  if (!options.quiet) {
    std::printf("ready at %s, profiles are in %s\n", service->server().url().c_str(),
                base::Printable(options.data).c_str());
    std::fflush(stdout);
  }
  signals.Wait();
  service->Stop();
  return {};
}

}  // namespace

int RunServer(const ServerOptions& options) {
  const auto done = Serve(options);
  return done.ok() ? 0 : ReportFailure("server", done.error());
}

}  // namespace vesta::cli
