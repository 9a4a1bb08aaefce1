#include "src/cli/index_image.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>

#include "src/base/printable.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int kLowestPriority = 19;
constexpr rlim_t kFilesMax = 256;
// Of ioprio_set(2), whose header is none for C++.
constexpr int kIoOfProcess = 1;
constexpr int kIoIdle = 3 << 13;

// Allocates nothing and ends the process: for signal handlers and where there is no memory.
[[noreturn]] void EndWith(IndexExit status, std::string_view line) {
  static_cast<void>(::write(STDOUT_FILENO, line.data(), line.size()) > 0);
  ::_exit(static_cast<int>(status));
}

void OnSignal(int signal) {
  if (signal == SIGXCPU) {
    EndWith(IndexExit::kLimit, "failed time the limit of CPU time was reached\n");
  }
  EndWith(IndexExit::kCrashed, signal == SIGBUS
                                   ? std::string_view("failed crashed a file became shorter\n")
                                   : std::string_view("failed crashed reading it crashed\n"));
}

void OnNoMemory() { EndWith(IndexExit::kLimit, "failed memory the limit of memory was reached\n"); }

// Handlers end the process themselves, so that none of this writes a core file, wherever the
// system would send it.
void CatchSignals() {
  static char stack[64 << 10];  // its own: the overflow of the other one is a signal, too
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGXCPU, SIGBUS, SIGSEGV, SIGABRT, SIGILL, SIGFPE}) {
    ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGXFSZ, SIG_IGN);  // write(2) says it
  std::set_new_handler(OnNoMemory);
}

// Only ever lowers: the one who starts us may have set less.
void Limit(__rlimit_resource which, rlim_t soft, rlim_t hard) {
  struct rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, hard);
  limit.rlim_cur = std::min({limit.rlim_cur, soft, limit.rlim_max});
  ::setrlimit(which, &limit);
}

// Whatever of this the system refuses costs others a little of their time, and no more.
void Lower(const IndexImageOptions& options) {
  ::setpriority(PRIO_PROCESS, 0, kLowestPriority);
  const sched_param parameters{};
  ::sched_setscheduler(0, SCHED_BATCH, &parameters);
  ::syscall(SYS_ioprio_set, kIoOfProcess, 0, kIoIdle);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const auto& files = options.request.files;
  Limit(RLIMIT_DATA, options.memory_bytes_max, options.memory_bytes_max);
  Limit(RLIMIT_CPU, options.cpu_s_max, options.cpu_s_max + 1);
  const uint64_t file_bytes = std::max(
      {files.unpacked_bytes_max, files.debuginfod.file_bytes_max, options.request.index_bytes_max});
  Limit(RLIMIT_FSIZE, file_bytes, file_bytes);
  Limit(RLIMIT_NOFILE, kFilesMax, kFilesMax);
  Limit(RLIMIT_CORE, 0, 0);
  // Its signal is not handled: so it also ends a process that waits for a file system of another.
  ::alarm(static_cast<unsigned>(options.run_s_max));
}

template <typename Number>
bool ParseNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// False when it is no number, or no such option.
bool SetOption(std::string_view name, const std::string& value, IndexImageOptions& options) {
  symbolize::DebugFileOptions& files = options.request.files;
  if (name == "--image-fd") return ParseNumber(value, options.image_fd);
  if (name == "--index-fd") return ParseNumber(value, options.index_fd);
  if (name == "--memory-bytes") return ParseNumber(value, options.memory_bytes_max);
  if (name == "--cpu-seconds") return ParseNumber(value, options.cpu_s_max);
  if (name == "--run-seconds") return ParseNumber(value, options.run_s_max);
  if (name == "--index-bytes") return ParseNumber(value, options.request.index_bytes_max);
  if (name == "--unpacked-bytes") return ParseNumber(value, files.unpacked_bytes_max);
  if (name == "--debuginfod-ms") return ParseNumber(value, files.debuginfod.timeout_ms);
  if (name == "--debuginfod-bytes") return ParseNumber(value, files.debuginfod.file_bytes_max);
  if (name == "--debuginfod") {
    files.debuginfod.urls.push_back(value);
  } else if (name == "--root") {
    files.roots.push_back(value);
  } else if (name == "--identity") {
    options.identity = value;
  } else if (name == "--path") {
    files.image_path = value;
  } else if (name == "--scratch") {
    options.scratch = value;
  } else {
    return false;
  }
  return true;
}

void PrintLine(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

int Fail(IndexExit status, const std::string& reason, const std::string& text) {
  PrintLine("failed " + reason + " " + base::Printable(text));
  return static_cast<int>(status);
}

int FailWith(const Error& error) {
  std::string reason = base::ErrorCodeName(error.code());
  std::replace(reason.begin(), reason.end(), ' ', '_');
  IndexExit status = IndexExit::kFailed;
  switch (error.code()) {
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
    case ErrorCode::kInvalidInput:
      status = IndexExit::kUnreadable;
      break;
    case ErrorCode::kNotFound:
      status = IndexExit::kNothing;
      break;
    case ErrorCode::kExhausted:
      status = IndexExit::kLimit;
      break;
    default:
      break;
  }
  return Fail(status, reason, error.message());
}

}  // namespace

Result<IndexImageOptions> ParseIndexImage(const std::vector<std::string>& arguments) {
  IndexImageOptions options;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size() || !SetOption(arguments[i], arguments[i + 1], options)) {
      return Error(ErrorCode::kInvalidInput, "does not understand " + arguments[i]);
    }
  }
  if (options.image_fd < 0 || options.index_fd < 0) {
    return Error(ErrorCode::kInvalidInput, "needs --image-fd and --index-fd");
  }
  // The rest is for reading one unit, and for what is not packed into files.
  options.request.index_memory_bytes_max = options.memory_bytes_max / 4 * 3;
  return options;
}

int RunIndexImage(const std::vector<std::string>& arguments) {
  auto options = ParseIndexImage(arguments);
  if (!options.ok()) return Fail(IndexExit::kUsage, "usage", options.error().message());
  CatchSignals();
  Lower(*options);
  symbolize::DebugFileOptions& files = options->request.files;
  if (!options->scratch.empty()) {
    files.scratch_fd = ::open(options->scratch.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    files.debuginfod.folder_fd = files.scratch_fd;
  }
  auto image = base::FileSource::Adopt(options->image_fd, "the image");
  if (!image.ok()) return FailWith(image.error());
  options->request.progress = [last = uint64_t{0}](uint64_t done, uint64_t total) mutable {
    const uint64_t percent = total == 0 ? 0 : done * 100 / total;
    if (percent > last) PrintLine("progress " + std::to_string(percent) + " 100");
    last = percent;
  };
  const auto report = symbolize::IndexImage(**image, options->request, options->index_fd);
  if (!report.ok()) return FailWith(report.error());
  PrintLine("report " + symbolize::ReportJson(*report));
  if (!options->identity.empty() && options->identity != report->identity) {
    return Fail(IndexExit::kFailed, "changed", "the file is another one now");
  }
  PrintLine(std::string("ok debug=") + (report->has_lines ? "yes" : "no"));
  return static_cast<int>(IndexExit::kDone);
}

}  // namespace vesta::cli
