#include "src/cli/recorded_command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace vesta::cli {
namespace {

int ShellStatus(int status) {
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return WEXITSTATUS(status);
}

// Between fork and exec only async-signal-safe calls are allowed.
[[noreturn]] void RunChild(int release_fd, int failure_fd, const rlimit& file_limit,
                           char* const* arguments) {
  char go = 0;
  ssize_t count;
  do {
    count = ::read(release_fd, &go, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1) ::_exit(0);
  ::setrlimit(RLIMIT_NOFILE, &file_limit);
  ::execvp(arguments[0], arguments);
  const int errno_value = errno;
  const ssize_t written = ::write(failure_fd, &errno_value, sizeof(errno_value));
  ::_exit(written == sizeof(errno_value) ? 127 : 126);
}

}  // namespace

base::Result<RecordedCommand> RecordedCommand::Start(const std::vector<std::string>& arguments,
                                                     const rlimit& file_limit) {
  std::vector<char*> argument_pointers;
  for (const std::string& argument : arguments) {
    argument_pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  argument_pointers.push_back(nullptr);
  int release[2];
  int failure[2];
  if (::pipe2(release, O_CLOEXEC) != 0) return base::ErrnoError("making a pipe", errno);
  if (::pipe2(failure, O_CLOEXEC) != 0) {
    const int errno_value = errno;
    ::close(release[0]);
    ::close(release[1]);
    return base::ErrnoError("making a pipe", errno_value);
  }
  const pid_t pid = ::fork();
  const int errno_value = errno;
  if (pid == 0) {
    ::close(release[1]);
    RunChild(release[0], failure[1], file_limit, argument_pointers.data());
  }
  ::close(release[0]);
  ::close(failure[1]);
  if (pid < 0) {
    ::close(release[1]);
    ::close(failure[0]);
    return base::ErrnoError("starting " + arguments[0], errno_value);
  }
  return RecordedCommand(pid, release[1], failure[0], arguments[0]);
}

RecordedCommand::RecordedCommand(RecordedCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      release_fd_(std::exchange(other.release_fd_, -1)),
      failure_fd_(std::exchange(other.failure_fd_, -1)),
      name_(std::move(other.name_)),
      status_(other.status_) {}

RecordedCommand::~RecordedCommand() {
  const bool was_released = release_fd_ < 0;
  if (release_fd_ >= 0) ::close(release_fd_);
  if (failure_fd_ >= 0) ::close(failure_fd_);
  if (pid_ > 0 && !was_released) Wait();
}

base::Result<void> RecordedCommand::Release() {
  const char go = 1;
  const ssize_t written = ::write(release_fd_, &go, 1);
  ::close(std::exchange(release_fd_, -1));
  if (written != 1) return base::ErrnoError("starting " + name_, errno);
  int errno_value = 0;
  ssize_t count;
  do {
    count = ::read(failure_fd_, &errno_value, sizeof(errno_value));
  } while (count < 0 && errno == EINTR);
  ::close(std::exchange(failure_fd_, -1));
  if (count == sizeof(errno_value)) {
    Wait();
    return base::ErrnoError("executing " + name_, errno_value);
  }
  return {};
}

std::optional<int> RecordedCommand::Poll() {
  if (status_) return status_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = ShellStatus(status);
  return status_;
}

int RecordedCommand::Wait() {
  while (!status_) {
    int status = 0;
    if (::waitpid(pid_, &status, 0) == pid_) {
      status_ = ShellStatus(status);
    } else if (errno != EINTR) {
      status_ = 0;
    }
  }
  return *status_;
}

}  // namespace vesta::cli
