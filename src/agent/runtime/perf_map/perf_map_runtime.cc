#include "src/agent/runtime/perf_map/perf_map_runtime.h"

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

#include "src/base/byte_source.h"

namespace vesta::agent::runtime {
namespace {

using base::Error;
using base::ErrorCode;
using base::FileSource;
using base::Result;

constexpr int64_t kNsPerSecond = 1'000'000'000;
// A file can carry a time a little before its process: clocks tick, and are set.
constexpr int64_t kClockSlackNs = 2 * kNsPerSecond;
constexpr uint64_t kReadBytes = 4 << 20;
constexpr size_t kTailBytes = 64;
constexpr int kOpenAttempts = 4;

// What tells one state of a file from another.
struct FileState {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t mtime_ns = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};

struct StatusFacts {
  uint32_t user = 0;
  std::string inner_pid;  // in the innermost pid namespace
};

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

Result<StatusFacts> ReadStatus(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(folder + "/status"));
  StatusFacts facts;
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
    return Error(ErrorCode::kCorrupt, folder + "/status lacks Uid or NSpid");
  }
  return facts;
}

int64_t NowNs(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// Opens a file below a folder as if the folder were the root: a link in a container leads nowhere
// else.
Result<int> OpenInRoot(const std::string& root, const std::string& path) {
  const int folder = ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return base::ErrnoError("opening " + root, errno);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  long file = -1;
  int errno_value = 0;
  // EAGAIN: something was renamed or mounted meanwhile, anywhere.
  for (int attempt = 0; attempt < kOpenAttempts; ++attempt) {
    file = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how));
    errno_value = errno;
    if (file >= 0 || errno_value != EAGAIN) break;
  }
  ::close(folder);
  if (file < 0 && errno_value == ELOOP) {
    return Error(ErrorCode::kPermission, root + "/" + path + " is a link");
  }
  if (file < 0) return base::ErrnoError("opening " + root + "/" + path, errno_value);
  return static_cast<int>(file);
}

struct OpenMap {
  std::unique_ptr<FileSource> source;
  FileState state;
};

Result<OpenMap> OpenMapFile(const std::string& proc_root, const ProcessKey& process,
                            uint64_t file_bytes_max) {
  const std::string folder = proc_root + "/" + std::to_string(process.pid);
  ASSIGN_OR_RETURN(const StatusFacts status, ReadStatus(folder));
  const std::string path = "tmp/perf-" + status.inner_pid + ".map";
  ASSIGN_OR_RETURN(const int file, OpenInRoot(folder + "/root", path));
  ASSIGN_OR_RETURN(auto source, FileSource::Adopt(file, path));
  struct stat facts{};
  if (::fstat(source->fd(), &facts) != 0) {
    return base::ErrnoError("looking at " + path, errno);
  }
  if (facts.st_uid != status.user && facts.st_uid != 0) {
    return Error(ErrorCode::kPermission, path + " belongs to another user than the process");
  }
  OpenMap map;
  map.state = {facts.st_dev, facts.st_ino, source->size_bytes(),
               facts.st_mtim.tv_sec * kNsPerSecond + facts.st_mtim.tv_nsec};
  if (process.start_boot_ns != 0) {
    const int64_t start_unix_ns =
        NowNs(CLOCK_REALTIME) - NowNs(CLOCK_BOOTTIME) + static_cast<int64_t>(process.start_boot_ns);
    if (map.state.mtime_ns + kClockSlackNs < start_unix_ns) {
      return Error(ErrorCode::kNotFound, path + " is older than the process");
    }
  }
  if (map.state.size_bytes > file_bytes_max) {
    return Error(ErrorCode::kExhausted,
                 path + " is longer than " + std::to_string(file_bytes_max) + " bytes");
  }
  map.source = std::move(source);
  return map;
}

}  // namespace

struct PerfMapRuntime::Known {
  ProcessKey process;
  FileState state;
  uint64_t read_bytes = 0;  // of the file, up to the end of a line
  std::string tail;         // the last of them, to see whether the file was only added to
  object::PerfMap names;

  // Whether the file still begins with what was read.
  bool IsPrefixOf(const FileSource& source, const FileState& now) const {
    if (now.device != state.device || now.inode != state.inode || now.size_bytes < read_bytes) {
      return false;
    }
    std::string part(tail.size(), '\0');
    return source
               .ReadAt(read_bytes - part.size(),
                       std::as_writable_bytes(std::span(part.data(), part.size())))
               .ok() &&
           part == tail;
  }

  Result<void> ReadRest(const FileSource& source, uint64_t size_bytes) {
    std::string text;
    while (read_bytes < size_bytes) {
      text.resize(static_cast<size_t>(std::min(kReadBytes, size_bytes - read_bytes)));
      RETURN_IF_ERROR(
          source.ReadAt(read_bytes, std::as_writable_bytes(std::span(text.data(), text.size()))));
      size_t taken = names.Append(text);
      if (taken == 0) {
        // The last line is still being written; one that fills the buffer is none.
        if (text.size() < kReadBytes) break;
        taken = text.size();
      }
      read_bytes += taken;
      const size_t tail_size = std::min(kTailBytes, taken);
      tail = text.substr(taken - tail_size, tail_size);
    }
    return {};
  }
};

PerfMapRuntime::PerfMapRuntime(std::string proc_root, PerfMapLimits limits)
    : proc_root_(std::move(proc_root)), limits_(limits) {}

PerfMapRuntime::~PerfMapRuntime() = default;

std::optional<std::string> PerfMapRuntime::Detect(const ImageFacts& image) const {
  if (!image.is_generated) return std::nullopt;
  return std::string();
}

Result<KernelPart> PerfMapRuntime::Prepare(const ProcessKey&) { return KernelPart{}; }

PerfMapRuntime::Known& PerfMapRuntime::Find(const ProcessKey& process) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.process.pid == process.pid;
  });
  if (found == known_.end()) {
    known_.emplace_front();
    known_.front().process = process;
  } else {
    known_.splice(known_.begin(), known_, found);
    if (!(known_.front().process == process)) {
      known_.front() = Known();
      known_.front().process = process;
    }
  }
  return known_.front();
}

Result<void> PerfMapRuntime::Refresh(const ProcessKey& process, Known& known) {
  ASSIGN_OR_RETURN(const OpenMap map, OpenMapFile(proc_root_, process, limits_.file_bytes_max));
  if (map.state == known.state) return {};
  if (!known.IsPrefixOf(*map.source, map.state)) {
    known = Known();
    known.process = process;
  }
  known.state = map.state;
  return known.ReadRest(*map.source, map.state.size_bytes);
}

void PerfMapRuntime::Shed() {
  uint64_t kept_bytes = 0;
  for (auto known = known_.begin(); known != known_.end();) {
    kept_bytes += known->read_bytes;
    // The one that was just read stays, whatever its size.
    const bool goes = kept_bytes > limits_.kept_bytes_max && known != known_.begin();
    known = goes ? known_.erase(known) : std::next(known);
  }
}

Result<std::vector<symbolize::Symbol>> PerfMapRuntime::Name(const ProcessKey& process,
                                                            std::span<const uint64_t> frames) {
  Known& known = Find(process);
  if (auto refreshed = Refresh(process, known); !refreshed.ok()) {
    if (known.names.function_count() == 0) {
      known_.pop_front();
      return std::move(refreshed).error();
    }
  }
  Shed();
  std::vector<symbolize::Symbol> symbols(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto name = known.names.Find(frames[i]);
    if (!name) continue;
    symbolize::FunctionLine line;
    line.name = *name;
    line.system_name = *name;
    symbols[i].lines.push_back(std::move(line));
  }
  return symbols;
}

void PerfMapRuntime::Forget(uint32_t pid) {
  known_.remove_if([pid](const Known& known) { return known.process.pid == pid; });
}

}  // namespace vesta::agent::runtime
