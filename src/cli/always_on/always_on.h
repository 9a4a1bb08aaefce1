// Samples this machine for as long as it runs: an agent, and the uplink that brings its batches to
// where they are kept. `vesta agent` and `vesta up` are this with another sink.
#pragma once

#include <functional>
#include <memory>

#include "src/base/result.h"
#include "src/cli/always_on/log.h"
#include "src/cli/settings/options.h"
#include "src/spool/spool.h"
#include "src/uplink/sink.h"

namespace vesta::cli {

// The spool of the settings; null when it is off. Errors: as Spool::Open.
base::Result<std::unique_ptr<spool::Spool>> OpenSpool(const Settings& settings, const Log& log);

// Owner: one thread calls everything; the sink must outlive it.
class AlwaysOn {
 public:
  // Nothing is sampled yet. shares_process: as of AgentOptions, a store is in it as well.
  // Errors: as Agent::Create, LoadAgentId, HostLabels.
  static base::Result<std::unique_ptr<AlwaysOn>> Create(const Settings& settings,
                                                        uplink::Sink& sink,
                                                        std::unique_ptr<spool::Spool> spool,
                                                        bool shares_process, const Log& log);
  virtual ~AlwaysOn() = default;

  // Samples until should_stop says so, which is asked some ten times a second; then delivers what
  // is there, or leaves it in the spool.
  // Errors: as Agent::Start.
  virtual base::Result<void> Run(const std::function<bool()>& should_stop) = 0;
};

}  // namespace vesta::cli
