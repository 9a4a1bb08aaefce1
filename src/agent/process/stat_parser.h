// The facts of /proc/PID/stat and /proc/PID/status that vesta needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace vesta::agent::process {

struct ProcStat {
  std::string comm;
  char state = '?';
  bool is_kernel_thread = false;
  uint32_t thread_count = 0;
  uint64_t start_boot_ticks = 0;  // ticks of ProcView::TickNs(), rounded down; same over execve

  bool is_zombie() const { return state == 'Z' || state == 'X'; }
};

// Errors: Corrupt when a field is missing. The name may hold any characters, also " ) R 1".
base::Result<ProcStat> ParseStat(std::string_view text);

struct ProcStatus {
  uint32_t namespace_pid = 0;  // what the process calls itself; names its perf map file
  uint32_t real_uid = 0;
};

// Errors: Corrupt when a line is missing.
base::Result<ProcStatus> ParseStatus(std::string_view text);

}  // namespace vesta::agent::process
