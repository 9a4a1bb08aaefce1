// The program behind `vesta record -- COMMAND`: started, but held until sampling is on.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace vesta::cli {

// Owner: one thread. A command that was never released ends with this object.
class RecordedCommand {
 public:
  // Forks; the child waits for Release() before it executes anything, with this limit of open
  // files.
  static base::Result<RecordedCommand> Start(const std::vector<std::string>& arguments,
                                             const rlimit& file_limit);
  RecordedCommand(RecordedCommand&& other) noexcept;
  RecordedCommand& operator=(RecordedCommand&&) = delete;
  ~RecordedCommand();

  pid_t pid() const { return pid_; }
  // Lets the child execute the command.
  // Errors: NotFound, Permission, ... when it cannot be executed.
  base::Result<void> Release();
  // The exit status as a shell would give it (128 + signal), once it has ended.
  std::optional<int> Poll();
  int Wait();

 private:
  RecordedCommand(pid_t pid, int release_fd, int failure_fd, std::string name)
      : pid_(pid), release_fd_(release_fd), failure_fd_(failure_fd), name_(std::move(name)) {}

  pid_t pid_;
  int release_fd_;  // closing it without a byte tells the child to leave
  int failure_fd_;  // closed by a successful exec, else carries its errno
  std::string name_;
  std::optional<int> status_;
};

}  // namespace vesta::cli
