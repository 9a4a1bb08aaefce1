#include "src/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "src/base/printable.h"

namespace vesta::cli {

int PrintOut(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    if (errno == EPIPE) return kReaderLeft;  // `| head` has seen enough
    std::perror("vesta: writing to standard output");
    return kOwnFailure;
  }
  return 0;
}

int ReportFailure(const std::string& command, const base::Error& error) {
  std::fprintf(stderr, "vesta %s: %s\n", command.c_str(),
               base::PrintableLines(error.message()).c_str());
  return kOwnFailure;
}

bool UseColor(ColorMode mode) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org
  return (no_color == nullptr || *no_color == '\0') && ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace vesta::cli
