// What `vesta doctor` found, as text for people and as JSON for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/agent/source/probe.h"
#include "src/cli/options.h"
#include "src/cli/recording_book.h"

namespace vesta::cli {

struct DoctorReport {
  agent::source::Machine machine;
  std::string state_dir;
  std::vector<EffectiveSetting> settings;
  std::optional<RecordingBook> last_recording;
  std::string last_recording_error;  // why there is a book that cannot be read; else empty
};

// Shape: {"version": s, "kernel": s, "architecture": s, "cpus_online": n, "can_record": b,
//         "features": [{"name": s, "needed": b, "present": true|false|null, "meaning": s,
//         "detail": s, "remedy": s}], "state_dir": s, "settings": [{"name": s, "value": s,
//         "origin": s}], "last_recording": book of recording_book.h or null,
//         "last_recording_error": s}; present is null when it could not be tried.
std::string DoctorJson(const DoctorReport& report);

std::string DoctorText(const DoctorReport& report, bool color);

}  // namespace vesta::cli
