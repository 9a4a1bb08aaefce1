#include "src/cli/always_on/pause_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "src/base/ascii.h"
#include "src/base/byte_source.h"

namespace vesta::cli {
namespace {

constexpr std::string_view kUntil = "until ";
constexpr size_t kBytesMax = 4096;

}  // namespace

bool IsPaused(const std::string& path, int64_t now_unix_ms) {
  struct stat unused{};
  if (::stat(path.c_str(), &unused) != 0) return false;
  const auto read = base::ReadSmallFile(path, kBytesMax);
  if (!read.ok()) return true;
  std::string_view text = base::Trim(*read);
  if (!text.starts_with(kUntil)) return true;
  text.remove_prefix(kUntil.size());
  int64_t until_unix_s = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), until_unix_s);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return !is_number || now_unix_ms / 1000 < until_unix_s;
}

base::Result<void> WritePauseFile(const std::string& path, int64_t until_unix_s) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (path.find('/') != std::string::npos && !folder.empty() &&
      ::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return base::ErrnoError("making " + folder, errno);
  }
  const std::string text =
      until_unix_s == 0 ? "paused\n" : std::string(kUntil) + std::to_string(until_unix_s) + "\n";
  // In one write: an agent that reads it in between sees an empty file, which holds.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return base::ErrnoError("writing " + path, errno);
  const bool is_written =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int problem = is_written ? 0 : errno;
  ::close(fd);
  if (!is_written) return base::ErrnoError("writing " + path, problem);
  return {};
}

}  // namespace vesta::cli
