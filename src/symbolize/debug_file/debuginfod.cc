#include "src/symbolize/debug_file/debuginfod.h"

#include <curl/curl.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "src/base/shared_library.h"
#include "src/object/elf_file.h"

namespace vesta::symbolize {
namespace {

using base::Error;
using base::ErrorCode;
using base::FileSource;
using base::Result;
using Clock = std::chrono::steady_clock;

constexpr long kConnectMsMax = 5000;
constexpr long kRedirectsMax = 3;
constexpr std::string_view kKeptPrefix = "debuginfod-";

// The functions of libcurl that are used; its header tells their types.
class Curl {
 public:
  static Result<Curl> Load() {
    ASSIGN_OR_RETURN(const auto library,
                     base::SharedLibrary::Open({"libcurl.so.4", "libcurl-gnutls.so.4"},
                                               "debuginfod needs libcurl (package libcurl4)"));
    Curl curl;
    if (!library.Find("curl_easy_init", curl.init) ||
        !library.Find("curl_easy_setopt", curl.setopt) ||
        !library.Find("curl_easy_perform", curl.perform) ||
        !library.Find("curl_easy_getinfo", curl.getinfo) ||
        !library.Find("curl_easy_cleanup", curl.cleanup) ||
        !library.Find("curl_easy_strerror", curl.strerror)) {
      return Error(ErrorCode::kUnsupported, "libcurl lacks a function");
    }
    return curl;
  }

  CURL* (*init)() = nullptr;
  CURLcode (*setopt)(CURL*, CURLoption, ...) = nullptr;
  CURLcode (*perform)(CURL*) = nullptr;
  CURLcode (*getinfo)(CURL*, CURLINFO, ...) = nullptr;
  void (*cleanup)(CURL*) = nullptr;
  const char* (*strerror)(CURLcode) = nullptr;
};

struct Download {
  int fd = -1;
  uint64_t bytes_left = 0;
  bool is_too_large = false;
  int errno_value = 0;
};

size_t TakeBytes(char* bytes, size_t size, size_t count, void* context) {
  auto& download = *static_cast<Download*>(context);
  const size_t total = size * count;
  if (total > download.bytes_left) {
    download.is_too_large = true;
    return 0;
  }
  for (size_t done = 0; done < total;) {
    const ssize_t written = ::write(download.fd, bytes + done, total - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      download.errno_value = errno;
      return 0;
    }
    done += static_cast<size_t>(written);
  }
  download.bytes_left -= total;
  return total;
}

// Fills the file with what the server has.
Result<void> Get(const Curl& curl, const std::string& url, long timeout_ms, uint64_t size_bytes_max,
                 int fd) {
  CURL* request = curl.init();
  if (request == nullptr) return Error(ErrorCode::kUnavailable, "libcurl does not start");
  Download download{fd, size_bytes_max, false, 0};
  const auto set = [&](CURLoption option, auto value) {
    return curl.setopt(request, option, value) == CURLE_OK;
  };
  const bool is_set = set(CURLOPT_URL, url.c_str()) && set(CURLOPT_PROTOCOLS_STR, "http,https") &&
                      set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https") &&
                      set(CURLOPT_FOLLOWLOCATION, 1L) && set(CURLOPT_MAXREDIRS, kRedirectsMax) &&
                      set(CURLOPT_FAILONERROR, 1L) && set(CURLOPT_NOSIGNAL, 1L) &&
                      set(CURLOPT_TIMEOUT_MS, timeout_ms) &&
                      set(CURLOPT_CONNECTTIMEOUT_MS, std::min(timeout_ms, kConnectMsMax)) &&
                      set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(size_bytes_max)) &&
                      set(CURLOPT_USERAGENT, "vesta") && set(CURLOPT_WRITEFUNCTION, &TakeBytes) &&
                      set(CURLOPT_WRITEDATA, static_cast<void*>(&download));
  const CURLcode done = is_set ? curl.perform(request) : CURLE_UNKNOWN_OPTION;
  long status = 0;
  curl.getinfo(request, CURLINFO_RESPONSE_CODE, &status);
  const std::string text = curl.strerror(done);
  curl.cleanup(request);
  if (done == CURLE_OK) return {};
  if (download.is_too_large || done == CURLE_FILESIZE_EXCEEDED) {
    return Error(ErrorCode::kExhausted,
                 "a file of more than " + std::to_string(size_bytes_max) + " bytes");
  }
  if (download.errno_value != 0) return base::ErrnoError("writing", download.errno_value);
  if (status == 404) return Error(ErrorCode::kNotFound, "does not have it");
  return Error(ErrorCode::kUnavailable,
               status >= 400 ? "answers with status " + std::to_string(status) : text);
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
Result<std::unique_ptr<FileSource>> Fetch(const Curl& curl, const DebuginfodOptions& options,
                                          const std::string& url, const std::string& build_id,
                                          long timeout_ms) {
  const int fd = options.folder_fd < 0
                     ? ::memfd_create("debuginfod", MFD_CLOEXEC)
                     : ::openat(options.folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return base::ErrnoError("making a file", errno);
  const auto got = Get(curl, url + "/buildid/" + build_id + "/debuginfo", timeout_ms,
                       options.file_bytes_max, fd);
  if (!got.ok()) {
    ::close(fd);
    return got.error();
  }
  ASSIGN_OR_RETURN(auto file, FileSource::Adopt(fd, KeptName(build_id)));
  if (!HasBuildId(*file, build_id)) {
    return Error(ErrorCode::kCorrupt, "gives a file with another build id");
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
  ASSIGN_OR_RETURN(const Curl curl, Curl::Load());
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
    auto file = Fetch(curl, options, url, build_id, static_cast<long>(left));
    if (file.ok()) return file;
    reasons.Add("debuginfod: " + url + ": " + file.error().message());
    if (file.error().code() != ErrorCode::kNotFound) code = ErrorCode::kUnavailable;
  }
  return Error(code, "no debuginfod server has the file");
}

}  // namespace vesta::symbolize
