#include "src/agent/naming/index_runner.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <utility>

#include "src/base/printable.h"

namespace vesta::agent::naming {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int kImageFd = 3;
constexpr int kIndexFd = 4;
constexpr int kFirstFreeFd = 5;
constexpr size_t kLineBytesMax = 1024;
constexpr size_t kWhyBytesMax = 300;
constexpr int kReadsMax = 64;
// Of its own clock, which also counts the time that it was stopped.
constexpr uint64_t kRunSecondsMax = 24 * 3600;
constexpr int kLowestPriority = 19;
constexpr std::string_view kOk = "ok ";
constexpr std::string_view kFailed = "failed ";
constexpr std::string_view kProgress = "progress ";

uint64_t NsOf(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 1000;
}

// What the child needs between vfork and exec, where it may not allocate.
struct ChildPlan {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  std::array<int, kFirstFreeFd> fds{};  // what becomes 0 to 4; all above 4
  rlimit memory{};
  rlimit cpu{};
  rlimit file{};
  pid_t parent = 0;
};

// Only ever lowers: we may be under limits ourselves.
void SetLimit(__rlimit_resource which, rlimit limit) {
  rlimit ours{};
  if (::getrlimit(which, &ours) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, ours.rlim_max);
  limit.rlim_cur = std::min({limit.rlim_cur, ours.rlim_cur, limit.rlim_max});
  ::setrlimit(which, &limit);
}

// Shares our memory until exec: system calls only.
[[noreturn]] void RunChild(const ChildPlan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(126);
  ::setpgid(0, 0);
  ::setpriority(PRIO_PROCESS, 0, kLowestPriority);
  SetLimit(RLIMIT_DATA, plan.memory);
  SetLimit(RLIMIT_CPU, plan.cpu);
  SetLimit(RLIMIT_FSIZE, plan.file);
  SetLimit(RLIMIT_CORE, {0, 0});
  for (int fd = 0; fd < kFirstFreeFd; ++fd) {
    if (::dup2(plan.fds[static_cast<size_t>(fd)], fd) < 0) ::_exit(126);
  }
  ::syscall(SYS_close_range, kFirstFreeFd, ~0U, 0);
  ::execv(plan.program, plan.arguments);
  ::_exit(127);
}

// Apart, so that nothing else of the caller lives across vfork.
__attribute__((noinline)) pid_t StartChild(const ChildPlan& plan) {
  const pid_t pid = ::vfork();
  if (pid == 0) RunChild(plan);
  return pid;
}

class FdList {
 public:
  ~FdList() {
    for (const int fd : fds_) ::close(fd);
  }
  // A copy beyond the numbers that the child gives to its own.
  int CopyOf(int fd) {
    const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFreeFd);
    if (copy >= 0) fds_.push_back(copy);
    return copy;
  }
  int Take(int fd) {
    if (fd >= 0) fds_.push_back(fd);
    return fd;
  }

 private:
  std::vector<int> fds_;
};

std::vector<std::string> ArgumentsOf(const IndexJob& job, const IndexRunner::Options& options) {
  std::vector<std::string> arguments = {"vesta", "index-image"};
  const auto add = [&](const char* name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  add("--image-fd", std::to_string(kImageFd));
  add("--index-fd", std::to_string(kIndexFd));
  add("--identity", job.identity);
  add("--path", job.path);
  for (const std::string& root : job.roots) add("--root", root);
  add("--memory-bytes", std::to_string(options.memory_bytes_max));
  add("--index-bytes", std::to_string(job.index_bytes_max));
  add("--run-seconds", std::to_string(kRunSecondsMax));
  if (!job.scratch.empty()) add("--scratch", job.scratch);
  for (const std::string& url : job.debuginfod_urls) add("--debuginfod", url);
  return arguments;
}

}  // namespace

const char* IndexEndName(IndexEnd end) {
  switch (end) {
    case IndexEnd::kDone:
      return "done";
    case IndexEnd::kFailed:
      return "failed";
    case IndexEnd::kNoRoom:
      return "no_room";
    case IndexEnd::kOutOfMemory:
      return "out_of_memory";
    case IndexEnd::kCrashed:
      return "crashed";
    case IndexEnd::kTimedOut:
      return "timed_out";
    case IndexEnd::kNotStarted:
      break;
  }
  return "not_started";
}

Result<void> IndexRunner::Start(const IndexJob& job, uint64_t now_mono_ns) {
  if (is_running()) return Error(ErrorCode::kInternal, "an index is being built already");
  int report[2];
  if (::pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0) return base::ErrnoError("making a pipe", errno);
  report_fd_ = report[0];
  FdList fds;
  fds.Take(report[1]);
  const int null_fd = fds.Take(::open("/dev/null", O_RDWR | O_CLOEXEC));
  // The child may wait for room in the pipe, we never do.
  ::fcntl(report[1], F_SETFL, 0);
  ChildPlan plan;
  plan.fds = {fds.CopyOf(null_fd), fds.CopyOf(report[1]), fds.CopyOf(null_fd),
              fds.CopyOf(job.image_fd), fds.CopyOf(job.index_fd)};
  std::vector<std::string> arguments = ArgumentsOf(job, options_);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  plan.program = options_.program.c_str();
  plan.arguments = pointers.data();
  plan.memory = {options_.memory_bytes_max, options_.memory_bytes_max};
  plan.cpu = {options_.cpu_s_max, options_.cpu_s_max + 1};
  plan.file = {options_.file_bytes_max, options_.file_bytes_max};
  plan.parent = ::getpid();
  const bool has_fds =
      std::all_of(plan.fds.begin(), plan.fds.end(), [](int fd) { return fd >= 0; });
  pid_ = has_fds ? StartChild(plan) : -1;
  if (pid_ < 0) {
    const int errno_value = errno;
    ::close(std::exchange(report_fd_, -1));
    return base::ErrnoError("starting a process that builds an index", errno_value);
  }
  // The first to go when the machine has no memory; refused: it goes in its turn.
  const std::string path = "/proc/" + std::to_string(pid_) + "/oom_score_adj";
  if (const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC); fd >= 0) {
    static_cast<void>(::write(fd, "1000", 4) == 4);
    ::close(fd);
  }
  stopped_ = timed_out_ = false;
  polled_mono_ns_ = now_mono_ns;
  ran_ns_ = 0;
  unread_.clear();
  last_word_.clear();
  progress_percent_ = 0;
  return {};
}

std::optional<IndexOutcome> IndexRunner::Poll(uint64_t now_mono_ns) {
  if (!is_running()) return std::nullopt;
  ReadReport();
  if (!stopped_) ran_ns_ += now_mono_ns - std::min(now_mono_ns, polled_mono_ns_);
  polled_mono_ns_ = now_mono_ns;
  int status = 0;
  rusage used{};
  const pid_t ended = ::wait4(pid_, &status, WNOHANG, &used);
  if (ended == 0 || (ended < 0 && errno == EINTR)) {
    if (ran_ns_ <= options_.run_ns_max || timed_out_) return std::nullopt;
    timed_out_ = true;
    ::kill(pid_, SIGKILL);
    return std::nullopt;
  }
  // Where our own parent ignores SIGCHLD the system tells no status: what was said has to do.
  if (ended < 0) status = last_word_.rfind(kOk, 0) == 0 ? 0 : 1 << 8;
  ReadReport();
  IndexOutcome outcome = Judge(status);
  outcome.cpu_ns = NsOf(used.ru_utime) + NsOf(used.ru_stime);
  outcome.peak_memory_bytes = static_cast<uint64_t>(used.ru_maxrss) * 1024;
  ended_cpu_ns_ += outcome.cpu_ns;
  Forget();
  return outcome;
}

IndexOutcome IndexRunner::Judge(int status) const {
  IndexOutcome outcome;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const bool is_late = timed_out_ || signal == SIGXCPU || signal == SIGALRM;
    outcome.end = is_late             ? IndexEnd::kTimedOut
                  : signal == SIGXFSZ ? IndexEnd::kNoRoom
                                      : IndexEnd::kCrashed;
    outcome.why = "the process that read it was ended by signal " + std::to_string(signal);
    if (outcome.end == IndexEnd::kTimedOut) outcome.why = "reading it took too long";
    if (outcome.end == IndexEnd::kNoRoom) outcome.why = "its index would be too large";
    return outcome;
  }
  const std::string_view word(last_word_);
  if (WEXITSTATUS(status) == 0 && word.substr(0, kOk.size()) == kOk) {
    outcome.end = IndexEnd::kDone;
    outcome.has_lines = word.find(" debug=yes") != std::string_view::npos;
    return outcome;
  }
  if (word.substr(0, kFailed.size()) != kFailed) {
    outcome.end = IndexEnd::kCrashed;
    outcome.why = "the process that read it ended with status " +
                  std::to_string(WEXITSTATUS(status)) + " and did not say why";
    return outcome;
  }
  std::string_view rest = word.substr(kFailed.size());
  const std::string_view reason = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(rest.size(), reason.size() + 1));
  outcome.end = reason == "no_room"   ? IndexEnd::kNoRoom
                : reason == "memory"  ? IndexEnd::kOutOfMemory
                : reason == "time"    ? IndexEnd::kTimedOut
                : reason == "crashed" ? IndexEnd::kCrashed
                                      : IndexEnd::kFailed;
  outcome.why = base::Printable(rest.empty() ? reason : rest.substr(0, kWhyBytesMax));
  return outcome;
}

void IndexRunner::ReadReport() {
  std::array<char, 4096> buffer;
  // What writes without end does not keep us.
  for (int i = 0; i < kReadsMax; ++i) {
    const ssize_t count = ::read(report_fd_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    for (const char character : std::string_view(buffer.data(), static_cast<size_t>(count))) {
      if (character == '\n') {
        TakeLine(unread_);
        unread_.clear();
      } else if (unread_.size() < kLineBytesMax) {
        unread_ += character;
      }
    }
  }
}

void IndexRunner::TakeLine(std::string_view line) {
  if (line.substr(0, kProgress.size()) != kProgress) {
    last_word_ = line;
    return;
  }
  line.remove_prefix(kProgress.size());
  uint64_t done = 0;
  uint64_t total = 0;
  const char* end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, done);
  if (first.ec != std::errc() || first.ptr == end) return;
  const auto second = std::from_chars(first.ptr + 1, end, total);
  if (second.ec != std::errc() || total == 0) return;
  const double part = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  progress_percent_ = static_cast<uint32_t>(part * 100);
}

void IndexRunner::SetStopped(bool stopped) {
  if (!is_running() || stopped == stopped_) return;
  stopped_ = stopped;
  ::kill(pid_, stopped ? SIGSTOP : SIGCONT);
}

void IndexRunner::Kill() {
  if (!is_running()) return;
  ::kill(pid_, SIGKILL);
  rusage used{};
  int status = 0;
  while (::wait4(pid_, &status, 0, &used) < 0 && errno == EINTR) {
  }
  ended_cpu_ns_ += NsOf(used.ru_utime) + NsOf(used.ru_stime);
  Forget();
}

void IndexRunner::Forget() {
  pid_ = -1;
  ::close(std::exchange(report_fd_, -1));
}

uint64_t IndexRunner::cpu_ns() const {
  clockid_t clock{};
  timespec used{};
  if (!is_running() || ::clock_getcpuclockid(pid_, &clock) != 0 ||
      ::clock_gettime(clock, &used) != 0) {
    return ended_cpu_ns_;
  }
  return ended_cpu_ns_ + static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace vesta::agent::naming
