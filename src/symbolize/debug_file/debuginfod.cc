#include "src/symbolize/debug_file/debuginfod.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "src/client/http_client.h"
#include "src/object/elf_file.h"

namespace vesta::symbolize {
namespace {

using base::Error;
using base::ErrorCode;
using base::FileSource;
using base::Result;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kConnectMsMax = 5000;
constexpr uint32_t kRedirectsMax = 3;
constexpr std::string_view kKeptPrefix = "debuginfod-";

Result<void> WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return base::ErrnoError("writing", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// Fills the file with what the server has.
Result<void> Get(const DebuginfodOptions& options, const std::string& url,
                 const std::string& build_id, uint64_t timeout_ms, int fd) {
  client::HttpClientOptions http;
  http.url = url;
  http.timeout_ms = timeout_ms;
  http.connect_timeout_ms = std::min(timeout_ms, kConnectMsMax);
  http.answer_bytes_max = options.file_bytes_max;
  http.redirects_max = kRedirectsMax;
  ASSIGN_OR_RETURN(const auto client, client::HttpClient::Open(http));
  const auto write = [fd](std::string_view bytes) { return WriteAll(fd, bytes); };
  const auto response =
      client->Send({.target = "/buildid/" + build_id + "/debuginfo", .sink = write});
  // That nobody listens does not say that nobody has it.
  if (!response.ok()) return Error(ErrorCode::kUnavailable, response.error().message());
  if (response->status == 404) return Error(ErrorCode::kNotFound, url + " does not have it");
  if (response->status == 200) return {};
  return Error(ErrorCode::kUnavailable,
               url + " answers with status " + std::to_string(response->status));
}

std::string KeptName(const std::string& build_id) {
  return std::string(kKeptPrefix) + build_id + ".debug";
}

bool HasBuildId(const FileSource& file, const std::string& build_id) {
  const auto elf = object::ElfFile::Parse(file);
  return elf.ok() && elf->gnu_build_id() == build_id;
}

std::unique_ptr<FileSource> OpenKept(int folder_fd, const std::string& build_id) {
  const std::string name = KeptName(build_id);
  const int fd =
      ::openat(folder_fd, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return nullptr;
  auto file = FileSource::Adopt(fd, name);
  if (!file.ok()) return nullptr;
  if (HasBuildId(**file, build_id)) return std::move(file).value();
  ::unlinkat(folder_fd, name.c_str(), 0);
  return nullptr;
}

// Removes the files that were fetched first until there is room.
void MakeRoom(int folder_fd, uint64_t kept_bytes_max, uint64_t needed_bytes) {
  const int fd = ::openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = fd < 0 ? nullptr : ::fdopendir(fd);
  if (folder == nullptr) {
    if (fd >= 0) ::close(fd);
    return;
  }
  struct Kept {
    int64_t time_unix_s = 0;
    uint64_t size_bytes = 0;
    std::string name;
  };
  std::vector<Kept> kept;
  uint64_t total_bytes = needed_bytes;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    struct stat status{};
    if (!name.starts_with(kKeptPrefix) ||
        ::fstatat(folder_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    kept.push_back({status.st_mtim.tv_sec, static_cast<uint64_t>(status.st_size), name});
    total_bytes += kept.back().size_bytes;
  }
  ::closedir(folder);
  std::sort(kept.begin(), kept.end(),
            [](const Kept& a, const Kept& b) { return a.time_unix_s < b.time_unix_s; });
  for (const Kept& file : kept) {
    if (total_bytes <= kept_bytes_max) return;
    if (::unlinkat(folder_fd, file.name.c_str(), 0) == 0) total_bytes -= file.size_bytes;
  }
}

// A file without a name, so that one that was not fetched to its end leaves nothing behind.
Result<std::unique_ptr<FileSource>> Fetch(const DebuginfodOptions& options, const std::string& url,
                                          const std::string& build_id, uint64_t timeout_ms) {
  const int fd = options.folder_fd < 0
                     ? ::memfd_create("debuginfod", MFD_CLOEXEC)
                     : ::openat(options.folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return base::ErrnoError("making a file", errno);
  const auto got = Get(options, url, build_id, timeout_ms, fd);
  if (!got.ok()) {
    ::close(fd);
    return got.error();
  }
  ASSIGN_OR_RETURN(auto file, FileSource::Adopt(fd, KeptName(build_id)));
  if (!HasBuildId(*file, build_id)) {
    return Error(ErrorCode::kCorrupt, url + " gives a file with another build id");
  }
  if (options.folder_fd >= 0 && file->size_bytes() <= options.kept_bytes_max) {
    MakeRoom(options.folder_fd, options.kept_bytes_max, file->size_bytes());
    const std::string link = "/proc/self/fd/" + std::to_string(file->fd());
    // That it cannot be kept, or that another process was faster, costs the next one a download.
    static_cast<void>(::linkat(AT_FDCWD, link.c_str(), options.folder_fd,
                               KeptName(build_id).c_str(), AT_SYMLINK_FOLLOW));
  }
  return file;
}

}  // namespace

Result<std::unique_ptr<FileSource>> FetchDebugFile(const DebuginfodOptions& options,
                                                   const std::string& build_id, Reasons& reasons) {
  if (options.urls.empty() || build_id.empty()) {
    return Error(ErrorCode::kNotFound, "no server, or no build id to ask for");
  }
  if (options.folder_fd >= 0) {
    if (auto kept = OpenKept(options.folder_fd, build_id)) return kept;
  }
  const auto deadline = Clock::now() + std::chrono::milliseconds(options.timeout_ms);
  ErrorCode code = ErrorCode::kNotFound;
  for (std::string url : options.urls) {
    while (url.ends_with('/')) url.pop_back();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      reasons.Add("debuginfod: no time left for " + url);
      return Error(ErrorCode::kUnavailable, "debuginfod took too long");
    }
    auto file = Fetch(options, url, build_id, static_cast<uint64_t>(left));
    if (file.ok()) return file;
    reasons.Add("debuginfod: " + file.error().message());
    if (file.error().code() != ErrorCode::kNotFound) code = ErrorCode::kUnavailable;
  }
  return Error(code, "no debuginfod server has the file");
}

}  // namespace vesta::symbolize
