// `vesta pause` and `vesta resume`: the file that stops sampling, made and removed.

#include <unistd.h>

#include <cerrno>

#include "src/base/printable.h"
#include "src/cli/always_on/agent_session.h"
#include "src/cli/always_on/pause_file.h"
#include "src/cli/output.h"
#include "src/cli/run.h"

namespace vesta::cli {
namespace {

constexpr uint64_t kNsPerS = 1'000'000'000;

}  // namespace

int RunPause(const PauseOptions& options) {
  const uint64_t until_unix_s =
      options.pause_ns == 0 ? 0 : (NowUnixNs() + options.pause_ns + kNsPerS - 1) / kNsPerS;
  const auto written = WritePauseFile(options.pause_file, static_cast<int64_t>(until_unix_s));
  if (!written.ok()) return ReportFailure("pause", written.error());
  return PrintOut("paused: agents sample nothing while " + base::Printable(options.pause_file) +
                  (until_unix_s == 0 ? " is there; `vesta resume` removes it\n"
                                     : " says so; `vesta resume` ends it sooner\n"));
}

int RunResume(const ResumeOptions& options) {
  if (::unlink(options.pause_file.c_str()) != 0 && errno != ENOENT) {
    const bool is_folder = errno == EISDIR;
    base::Error error = base::ErrnoError("removing " + options.pause_file, errno);
    if (is_folder) {
      error = base::Error(error.code(), error.message() +
                                            ": remove that folder by hand; agents are "
                                            "paused while it is there");
    }
    return ReportFailure("resume", error);
  }
  return PrintOut("agents sample again\n");
}

}  // namespace vesta::cli
