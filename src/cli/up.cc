// `vesta up`: agent, store, server and page in one process.

#include <cstdio>
#include <string>

#include "src/book/book.h"
#include "src/cli/always_on/agent_session.h"
#include "src/cli/always_on/always_on.h"
#include "src/cli/always_on/log.h"
#include "src/cli/always_on/store_service.h"
#include "src/cli/always_on/store_sink.h"
#include "src/cli/output.h"
#include "src/cli/run.h"

namespace vesta::cli {
namespace {

// The page is there before anything is sampled; at the end what was sampled is stored before the
// store goes.
base::Result<void> Watch(const UpOptions& options) {
  const StopSignals signals;
  const Log log = LogOf("up");
  RETURN_IF_ERROR(book::MakeStateFolder(options.state_dir));
  ASSIGN_OR_RETURN(const auto service, StoreService::Start(options, log));
  std::printf("open %s\n", service->server().url().c_str());
  std::fflush(stdout);
  StoreSink sink(service->store(), service->server().senders());
  ASSIGN_OR_RETURN(auto spool, OpenSpool(options, log));
  ASSIGN_OR_RETURN(const auto agent, AlwaysOn::Create(options, sink, std::move(spool), true, log));
  if (!options.quiet) {
    log("sampling this machine at " + std::to_string(options.frequency_hz) + " Hz, keeping it in " +
        options.data + "; Ctrl-C ends it");
  }
  RETURN_IF_ERROR(agent->Run([&signals] { return signals.arrived(); }));
  service->Stop();
  return {};
}

}  // namespace

int RunUp(const UpOptions& options) {
  const auto done = Watch(options);
  return done.ok() ? 0 : ReportFailure("up", done.error());
}

}  // namespace vesta::cli
