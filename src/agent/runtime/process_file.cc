#include "src/agent/runtime/process_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

namespace vesta::agent::runtime {
namespace {

using base::Error;
using base::ErrorCode;
using base::FileSource;
using base::Result;

constexpr int64_t kNsPerSecond = 1'000'000'000;
// A file can carry a time a little before its process: clocks tick, and are set.
constexpr uint64_t kClockSlackNs = 2 * kNsPerSecond;
constexpr uint64_t kTickNs = 20'000'000;  // of the clock that file systems use, and more
constexpr int kOpenAttempts = 4;
constexpr int kThreadsTried = 64;

int64_t NowNs(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

uint64_t NoLessThanZero(int64_t value) {
  return static_cast<uint64_t>(std::max<int64_t>(value, 0));
}

// The value of a line such as "NSpid:\t4711\t12".
std::string_view LineOf(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(key)) return line.substr(key.size());
    at = end + 1;
  }
  return {};
}

int OpenFolder(const std::string& path) {
  return ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// A process whose first thread has ended has no root of its own any more; its threads have.
int OpenRootOfThreads(const std::string& folder) {
  DIR* threads = ::opendir((folder + "/task").c_str());
  if (threads == nullptr) return -1;
  int root = -1;
  int tried = 0;
  while (const dirent* thread = ::readdir(threads)) {
    if (thread->d_name[0] == '.') continue;
    root = OpenFolder(folder + "/task/" + thread->d_name + "/root");
    if (root >= 0 || ++tried == kThreadsTried) break;
  }
  ::closedir(threads);
  return root;
}

// Opens a file below a folder as if the folder were the root: a link in a container leads nowhere
// else.
Result<int> OpenInRoot(const std::string& folder, const std::string& path) {
  const std::string root = folder + "/root";
  int root_file = OpenFolder(root);
  const int root_errno = errno;
  if (root_file < 0) root_file = OpenRootOfThreads(folder);
  if (root_file < 0) return base::ErrnoError("opening " + root, root_errno);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  long file = -1;
  int errno_value = 0;
  // EAGAIN: something was renamed or mounted meanwhile, anywhere.
  for (int attempt = 0; attempt < kOpenAttempts; ++attempt) {
    file = ::syscall(SYS_openat2, root_file, path.c_str(), &how, sizeof(how));
    errno_value = errno;
    if (file >= 0 || errno_value != EAGAIN) break;
  }
  ::close(root_file);
  if (file < 0 && errno_value == ELOOP) {
    return Error(ErrorCode::kPermission, root + "/" + path + " is a link");
  }
  if (file < 0) return base::ErrnoError("opening " + root + "/" + path, errno_value);
  return static_cast<int>(file);
}

Result<struct stat> Look(const FileSource& source) {
  struct stat facts{};
  if (::fstat(source.fd(), &facts) != 0) {
    return base::ErrnoError("looking at " + source.name(), errno);
  }
  return facts;
}

FileState StateOf(const struct stat& facts, const FileSource& source) {
  return {facts.st_dev, facts.st_ino, source.size_bytes(),
          facts.st_mtim.tv_sec * kNsPerSecond + facts.st_mtim.tv_nsec};
}

}  // namespace

uint64_t NowMonoNs() { return NoLessThanZero(NowNs(CLOCK_MONOTONIC)); }

uint64_t MonoOfUnixNs(int64_t time_unix_ns) {
  return NoLessThanZero(time_unix_ns - NowNs(CLOCK_REALTIME) + NowNs(CLOCK_MONOTONIC));
}

uint64_t MonoOfBootNs(uint64_t time_boot_ns) {
  if (time_boot_ns == 0) return 0;
  return NoLessThanZero(static_cast<int64_t>(time_boot_ns) - NowNs(CLOCK_BOOTTIME) +
                        NowNs(CLOCK_MONOTONIC));
}

Result<ProcessFacts> ReadProcessFacts(const std::string& proc_root, uint32_t pid) {
  const std::string path = proc_root + "/" + std::to_string(pid) + "/status";
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path));
  ProcessFacts facts;
  // Real, effective, saved, file system: files are created as the last one, which follows the
  // effective one.
  std::string_view users = LineOf(text, "Uid:");
  users.remove_prefix(std::min(users.find_first_of("0123456789"), users.size()));
  users.remove_prefix(std::min(users.find('\t'), users.size()));
  users.remove_prefix(std::min<size_t>(1, users.size()));
  const auto parsed = std::from_chars(users.data(), users.data() + users.size(), facts.user);
  const std::string_view pids = LineOf(text, "NSpid:");
  facts.inner_pid = pids.substr(std::min(pids.find_last_of('\t'), pids.size()));
  facts.inner_pid.erase(0, 1);
  if (parsed.ec != std::errc() || facts.inner_pid.empty() ||
      facts.inner_pid.find_first_not_of("0123456789") != std::string::npos) {
    return Error(ErrorCode::kCorrupt, path + " lacks Uid or NSpid");
  }
  return facts;
}

Result<ProcessFile> OpenProcessFile(const std::string& proc_root, const ProcessKey& process,
                                    const ProcessFacts& facts, const std::string& path) {
  const std::string folder = proc_root + "/" + std::to_string(process.pid);
  ASSIGN_OR_RETURN(const int file, OpenInRoot(folder, path));
  ProcessFile opened;
  ASSIGN_OR_RETURN(opened.source, FileSource::Adopt(file, path));
  ASSIGN_OR_RETURN(const struct stat status, Look(*opened.source));
  if (status.st_uid != facts.user && status.st_uid != 0) {
    return Error(ErrorCode::kPermission, path + " belongs to another user than the process");
  }
  opened.state = StateOf(status, *opened.source);
  const uint64_t written_mono_ns = MonoOfUnixNs(opened.state.mtime_unix_ns);
  if (written_mono_ns + kClockSlackNs < MonoOfBootNs(process.start_boot_ns) ||
      written_mono_ns + kTickNs < process.exec_mono_ns) {
    return Error(ErrorCode::kNotFound, path + " is older than the process");
  }
  return opened;
}

Result<ProcessFile> LookAgain(const FileSource& source) {
  const int file = ::fcntl(source.fd(), F_DUPFD_CLOEXEC, 0);
  if (file < 0) return base::ErrnoError("looking at " + source.name(), errno);
  ProcessFile again;
  ASSIGN_OR_RETURN(again.source, FileSource::Adopt(file, source.name()));
  ASSIGN_OR_RETURN(const struct stat status, Look(*again.source));
  again.state = StateOf(status, *again.source);
  return again;
}

}  // namespace vesta::agent::runtime
