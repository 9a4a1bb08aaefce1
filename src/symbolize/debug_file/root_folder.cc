#include "src/symbolize/debug_file/root_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <utility>
#include <vector>

#include "src/base/descriptor.h"

namespace vesta::symbolize {
namespace {

using base::Descriptor;
using base::Error;
using base::ErrorCode;
using base::FileSource;
using base::Result;

constexpr int kLinksMax = 40;  // as the kernel has it
constexpr size_t kStepsMax = 4096;

// Opens for reading what was found, once it is known to be a regular file.
Result<std::unique_ptr<FileSource>> OpenFound(const Descriptor& found, const std::string& name) {
  struct stat status{};
  if (::fstat(found.fd(), &status) != 0) return base::ErrnoError("looking at " + name, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error(ErrorCode::kInvalidInput, name + " is not a regular file");
  }
  const std::string link = "/proc/self/fd/" + std::to_string(found.fd());
  const int fd = ::open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return base::ErrnoError("opening " + name, errno);
  return FileSource::Adopt(fd, name);
}

// Puts the parts of a path in front of those that are still to come.
void PutInFront(std::string_view path, std::deque<std::string>& parts) {
  std::vector<std::string> found;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") found.emplace_back(part);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  parts.insert(parts.begin(), found.begin(), found.end());
}

// Empty when it is no link.
Result<std::string> LinkTarget(int folder, const std::string& part) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(folder, part.c_str(), text.data(), text.size());
  if (size < 0) {
    if (errno == EINVAL) return std::string();
    return base::ErrnoError("reading a link", errno);
  }
  if (static_cast<size_t>(size) == text.size()) {
    return Error(ErrorCode::kInvalidInput, "a link that is too long");
  }
  return std::string(text.data(), static_cast<size_t>(size));
}

// Walks one part of the path after the other; `above` holds the folders on the way, so that ".."
// needs no look at what the file system says there.
Result<Descriptor> Walk(int root, std::string_view path) {
  std::deque<std::string> parts;
  PutInFront(path, parts);
  std::vector<Descriptor> above;
  int links_left = kLinksMax;
  for (size_t step = 0; !parts.empty(); ++step) {
    if (step == kStepsMax) return Error(ErrorCode::kInvalidInput, "a path that is too long");
    const std::string part = std::move(parts.front());
    parts.pop_front();
    if (part == "..") {
      if (!above.empty()) above.pop_back();
      continue;
    }
    const int folder = above.empty() ? root : above.back().fd();
    ASSIGN_OR_RETURN(const std::string target, LinkTarget(folder, part));
    if (!target.empty()) {
      if (links_left-- == 0) return Error(ErrorCode::kInvalidInput, "too many links");
      if (target[0] == '/') above.clear();
      PutInFront(target, parts);
      continue;
    }
    // A link that took the place meanwhile is opened as itself, and is no folder and no file.
    const int fd = ::openat(folder, part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return base::ErrnoError("opening", errno);
    above.emplace_back(fd);
  }
  if (above.empty()) return Error(ErrorCode::kInvalidInput, "is a folder");
  return std::move(above.back());
}

}  // namespace

Result<RootFolder> RootFolder::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return base::ErrnoError("opening " + path, errno);
  return RootFolder(fd, path);
}

RootFolder::RootFolder(RootFolder&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

RootFolder::~RootFolder() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<FileSource>> RootFolder::OpenFile(std::string_view path) const {
  const std::string name(path);
  if (name.size() != std::char_traits<char>::length(name.c_str())) {
    return Error(ErrorCode::kInvalidInput, "a path with a NUL in it");
  }
  struct open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, fd_, name.c_str(), &how, sizeof(how));
  if (fd < 0) {
    // EPERM: what some sandboxes say for a call that they do not know.
    if (errno == ENOSYS || errno == EPERM) return OpenFileByWalking(path);
    return base::ErrnoError("opening " + name, errno);
  }
  return OpenFound(Descriptor(static_cast<int>(fd)), name);
}

Result<std::unique_ptr<FileSource>> RootFolder::OpenFileByWalking(std::string_view path) const {
  const std::string name(path);
  auto found = Walk(fd_, path);
  if (!found.ok()) return found.error().Context(name);
  return OpenFound(*found, name);
}

}  // namespace vesta::symbolize
