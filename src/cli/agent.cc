// `vesta agent`: this machine's samples to a server, for as long as it runs.

#include <string>

#include "src/cli/always_on/agent_session.h"
#include "src/cli/always_on/always_on.h"
#include "src/cli/always_on/log.h"
#include "src/cli/output.h"
#include "src/cli/run.h"
#include "src/cli/store_access.h"
#include "src/uplink/http_sink.h"

namespace vesta::cli {
namespace {

base::Result<void> Watch(const AgentOptions& options) {
  const StopSignals signals;
  RaiseFileLimit();
  const Log log = LogOf("agent");
  uplink::HttpSinkOptions http;
  http.client.url = options.server_url;
  http.client.ca_file = options.ca_file;
  if (!options.token_file.empty()) {
    http.read_token = [&options] { return ReadTokenFile(options.token_file); };
  }
  ASSIGN_OR_RETURN(const auto sink, uplink::HttpSink::Open(http));
  ASSIGN_OR_RETURN(auto spool, OpenSpool(options, log));
  ASSIGN_OR_RETURN(const auto agent,
                   AlwaysOn::Create(options, *sink, std::move(spool), false, log));
  if (!options.quiet) {
    log("sampling this machine at " + std::to_string(options.frequency_hz) + " Hz, sending to " +
        options.server_url);
  }
  return agent->Run([&signals] { return signals.arrived(); });
}

}  // namespace

int RunAgent(const AgentOptions& options) {
  const auto done = Watch(options);
  return done.ok() ? 0 : ReportFailure("agent", done.error());
}

}  // namespace vesta::cli
