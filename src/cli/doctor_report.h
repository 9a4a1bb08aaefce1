// What `vesta doctor` found, as text for people and as JSON for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/agent/source/probe.h"
#include "src/book/book.h"
#include "src/book/flow.h"
#include "src/cli/settings/options.h"

namespace vesta::cli {

// What a server says of this machine's agent.
struct ServerBook {
  std::string url;
  std::string error;                         // why it could not be asked; else empty
  std::optional<book::ServerCounts> counts;  // nothing: it does not know the agent
};

struct DoctorReport {
  agent::source::Machine machine;
  std::string state_dir;
  std::vector<EffectiveSetting> settings;
  std::optional<book::Book> last_recording;
  std::optional<book::Book> agent;   // of the agent that runs, or ran last
  std::string last_recording_error;  // why there is a book that cannot be read; else empty
  std::optional<ServerBook> server;  // where the agent's samples go
};

// Shape: {"version": s, "kernel": s, "architecture": s, "cpus_online": n, "can_record": b,
//         "features": [{"name": s, "needed": b, "present": true|false|null, "meaning": s,
//         "detail": s, "remedy": s}], "state_dir": s, "settings": [{"name": s, "value": s,
//         "origin": s}], "last_recording": book of src/book or null, "agent": the same,
//         "last_recording_error": s, "server": {"url": s, "error": s, "knows_agent": b} or null,
//         "flow": as book::WriteFlow}; present is null when it could not be tried.
std::string DoctorJson(const DoctorReport& report);

std::string DoctorText(const DoctorReport& report, bool color);

}  // namespace vesta::cli
