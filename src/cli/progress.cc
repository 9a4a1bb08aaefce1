#include "src/cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "src/base/printable.h"

namespace vesta::cli {
namespace {

constexpr uint64_t kOnTerminalNs = 250'000'000;
constexpr uint64_t kInLogNs = 10'000'000'000;
constexpr uint64_t kNamingNs = 2'000'000'000;  // in a log

std::string Seconds(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", static_cast<double>(ns) / 1e9);
  return text;
}

}  // namespace

Progress::Progress(bool quiet)
    : quiet_(quiet),
      on_terminal_(::isatty(STDERR_FILENO) == 1),
      next_ns_(on_terminal_ ? 0 : kInLogNs) {}

void Progress::Show(uint64_t elapsed_ns, uint64_t duration_ns, uint64_t samples, uint64_t lost) {
  if (quiet_ || elapsed_ns < next_ns_) return;
  next_ns_ = elapsed_ns + (on_terminal_ ? kOnTerminalNs : kInLogNs);
  std::string line = "recording: " + Seconds(elapsed_ns);
  if (duration_ns != 0) line += " of " + Seconds(duration_ns);
  line += ", " + std::to_string(samples) + " samples";
  if (lost != 0) line += ", " + std::to_string(lost) + " lost";
  if (on_terminal_) line += "  (Ctrl-C stops and keeps them)";
  std::fprintf(stderr, on_terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  shown_ = on_terminal_;
}

void Progress::ShowNaming(uint64_t now_ns, size_t done, size_t wanted, const std::string& path,
                          uint32_t percent) {
  if (quiet_) return;
  if (naming_next_ns_ == 0) naming_next_ns_ = now_ns + (on_terminal_ ? kOnTerminalNs : kNamingNs);
  if (now_ns < naming_next_ns_) return;
  naming_next_ns_ = now_ns + (on_terminal_ ? kOnTerminalNs : kNamingNs);
  std::string line = "naming: " + std::to_string(done) + " of " + std::to_string(wanted) +
                     (wanted == 1 ? " binary" : " binaries");
  if (!path.empty()) {
    line += ", " + base::Printable(path.substr(path.rfind('/') + 1)) + " " +
            std::to_string(percent) + " %";
  }
  if (on_terminal_) line += "  (Ctrl-C uses what is there)";
  std::fprintf(stderr, on_terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  shown_ = on_terminal_;
}

void Progress::Say(const std::string& what) {
  if (quiet_ || !on_terminal_) return;
  std::fprintf(stderr, "\r\033[K%s", what.c_str());
  shown_ = true;
}

void Progress::Clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace vesta::cli
