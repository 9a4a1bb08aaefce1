#include "src/agent/naming/symbol_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/json_reader.h"

namespace vesta::agent::naming {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kIndexEnd = ".index";
constexpr std::string_view kNoteEnd = ".note";
constexpr std::string_view kPartEnd = ".part";
constexpr const char* kLockName = "lock";
constexpr size_t kKeyBytesMax = 200;  // a file name has at most 255
constexpr size_t kNoteBytesMax = 4096;
constexpr size_t kWhyBytesMax = 500;
// Of our own files in the folder; more are not looked at.
constexpr size_t kFilesMax = 100'000;
constexpr size_t kNotesMax = 10'000;
// Longer than any index takes.
constexpr time_t kPartAgeMaxS = 3600;
constexpr int kMakeFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string NameOf(const std::string& key, std::string_view end) { return key + std::string(end); }

Result<void> MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const bool is_last = slash == std::string::npos;
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), is_last ? 0700 : 0755) != 0 && errno != EEXIST) {
      return base::ErrnoError("making " + part, errno);
    }
    if (is_last) return {};
  }
}

// A file that vanishes with its last descriptor.
Result<int> OpenUnnamed() {
  for (const char* folder : {"/var/tmp", "/tmp"}) {
    const int fd = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
  }
  const int fd = ::memfd_create("vesta-symbols", MFD_CLOEXEC);
  if (fd < 0) return base::ErrnoError("making a file without a name", errno);
  // 0777 as it comes.
  static_cast<void>(::fchmod(fd, 0600) == 0);
  return fd;
}

// FNV-1a; two keys of one number only wait for each other.
uint64_t LockByteOf(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char character : key) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  }
  return hash & 0x3fff'ffff'ffff;
}

bool IsSafeFile(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct CachedFile {
  std::string name;
  uint64_t bytes = 0;
  timespec used{};
};

// Our files, by name; the lock is none of them.
std::vector<CachedFile> ListFiles(int folder_fd) {
  std::vector<CachedFile> files;
  const int own = ::openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = own < 0 ? nullptr : ::fdopendir(own);
  if (folder == nullptr) {
    if (own >= 0) ::close(own);
    return files;
  }
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name(entry->d_name);
    if (!EndsWith(name, kIndexEnd) && !EndsWith(name, kNoteEnd) && !EndsWith(name, kPartEnd)) {
      continue;
    }
    struct stat status{};
    if (::fstatat(folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    files.push_back({std::string(name), static_cast<uint64_t>(status.st_size), status.st_mtim});
    if (files.size() >= kFilesMax) break;
  }
  ::closedir(folder);
  return files;
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

SymbolCache::Writing::~Writing() {
  if (fd_ >= 0) ::close(fd_);
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

SymbolCache::SymbolCache(Options options) : options_(std::move(options)) {
  if (options_.folder.empty()) return;
  const auto opened = OpenFolder();
  if (opened.ok()) return;
  refused_why_ = opened.error().message();
  if (folder_fd_ >= 0) ::close(std::exchange(folder_fd_, -1));
}

SymbolCache::~SymbolCache() {
  if (folder_fd_ >= 0) ::close(folder_fd_);
}

Result<void> SymbolCache::OpenFolder() {
  const std::string& path = options_.folder;
  if (options_.make_folder) RETURN_IF_ERROR(MakeFolders(path));
  folder_fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder_fd_ < 0 && (errno == ELOOP || errno == ENOTDIR)) {
    return Error(ErrorCode::kPermission, path + " is a link or no folder: give the folder itself");
  }
  if (folder_fd_ < 0) return base::ErrnoError("opening " + path, errno);
  struct stat status{};
  if (::fstat(folder_fd_, &status) != 0) return base::ErrnoError("asking for " + path, errno);
  if (status.st_uid != ::geteuid()) {
    return Error(ErrorCode::kPermission,
                 path + " belongs to user " + std::to_string(status.st_uid) +
                     ", who could give wrong names: chown it, or give another folder");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error(ErrorCode::kPermission, path +
                                             " can be written by other users, who could give wrong "
                                             "names: name a folder of its own (mode 700)");
  }
  if (::faccessat(folder_fd_, ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return base::ErrnoError("writing to " + path, errno);
  }
  return {};
}

std::string SymbolCache::KeyOf(std::string_view identity) {
  std::string key;
  for (const char character : identity) {
    const bool is_plain =
        (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
        (character >= '0' && character <= '9') || character == '-' || character == '_';
    if (is_plain) {
      key += character;
      continue;
    }
    char escaped[4];
    std::snprintf(escaped, sizeof(escaped), "+%02x", static_cast<unsigned char>(character));
    key += escaped;
  }
  return key.size() > kKeyBytesMax ? std::string() : key;
}

bool SymbolCache::Has(const std::string& key) const {
  struct stat status{};
  return has_folder() && !key.empty() &&
         ::fstatat(folder_fd_, NameOf(key, kIndexEnd).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::unique_ptr<LeasedFile>> SymbolCache::Open(const std::string& key) const {
  if (!has_folder() || key.empty()) return Error(ErrorCode::kNotFound, "there is no cache");
  ASSIGN_OR_RETURN(auto file, LeasedFile::Open(folder_fd_, NameOf(key, kIndexEnd)));
  file->Touch();
  return file;
}

std::optional<CacheNote> SymbolCache::ReadNote(const std::string& key) const {
  if (!has_folder() || key.empty()) return std::nullopt;
  const auto file = LeasedFile::Open(folder_fd_, NameOf(key, kNoteEnd), LeasedFile::Way::kCopy);
  if (!file.ok() || (*file)->bytes().size() > kNoteBytesMax) return std::nullopt;
  const auto bytes = (*file)->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto json = base::ParseJson(text);
  if (!json.ok()) return std::nullopt;
  const base::JsonValue* time = json->Find("time_unix_s");
  const base::JsonValue* image_bytes = json->Find("image_bytes");
  const base::JsonValue* debug_file = json->Find("debug_file_existed");
  const base::JsonValue* servers = json->Find("asked_servers");
  const base::JsonValue* why = json->Find("why");
  if (time == nullptr || image_bytes == nullptr || debug_file == nullptr || servers == nullptr ||
      why == nullptr || why->AsString() == nullptr) {
    return std::nullopt;
  }
  CacheNote note;
  note.time_unix_s = time->AsUint().value_or(0);
  note.image_bytes = image_bytes->AsUint().value_or(0);
  note.debug_file_existed = debug_file->AsBool().value_or(false);
  note.asked_servers = servers->AsBool().value_or(false);
  note.why = *why->AsString();
  return note;
}

void SymbolCache::WriteNote(const std::string& key, const CacheNote& note) {
  if (!has_folder() || key.empty()) return;
  base::JsonWriter writer;
  writer.BeginObject().Key("time_unix_s").Uint(note.time_unix_s);
  writer.Key("image_bytes").Uint(note.image_bytes);
  writer.Key("debug_file_existed").Bool(note.debug_file_existed);
  writer.Key("asked_servers").Bool(note.asked_servers);
  writer.Key("why").String(std::string_view(note.why).substr(0, kWhyBytesMax)).EndObject();
  const std::string name = NameOf(key, kNoteEnd);
  const std::string aside = name + "." + std::to_string(::getpid()) + std::string(kPartEnd);
  ::unlinkat(folder_fd_, aside.c_str(), 0);
  const int fd = ::openat(folder_fd_, aside.c_str(), kMakeFlags | O_EXCL, 0600);
  if (fd < 0) return;  // the image is tried again at the next recording, that is all
  const bool is_written = WriteAll(fd, writer.Take() + "\n");
  ::close(fd);
  if (!is_written || ::renameat(folder_fd_, aside.c_str(), folder_fd_, name.c_str()) != 0) {
    ::unlinkat(folder_fd_, aside.c_str(), 0);
  }
}

void SymbolCache::RemoveNote(const std::string& key) {
  if (has_folder() && !key.empty()) ::unlinkat(folder_fd_, NameOf(key, kNoteEnd).c_str(), 0);
}

void SymbolCache::Remove(const std::string& key) {
  if (has_folder() && !key.empty()) ::unlinkat(folder_fd_, NameOf(key, kIndexEnd).c_str(), 0);
}

Result<std::unique_ptr<SymbolCache::Writing>> SymbolCache::BeginWrite(const std::string& key) {
  if (!has_folder() || key.empty()) {
    ASSIGN_OR_RETURN(const int fd, OpenUnnamed());
    return std::make_unique<Writing>(fd, -1, std::string());
  }
  // One byte of one file stands for each index; the system unlocks it when a process dies.
  const int lock_fd = ::openat(folder_fd_, kLockName, kMakeFlags, 0600);
  if (lock_fd < 0) return base::ErrnoError("opening the lock of the symbol cache", errno);
  auto writing = std::make_unique<Writing>(-1, lock_fd, key);
  if (!IsSafeFile(lock_fd)) {
    return Error(ErrorCode::kPermission, "the lock of the symbol cache is no file of ours");
  }
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(LockByteOf(key));
  lock.l_len = 1;
  if (::fcntl(lock_fd, F_OFD_SETLK, &lock) != 0) {
    return Error(ErrorCode::kUnavailable, "another process writes this index");
  }
  const std::string name = NameOf(key, kPartEnd);
  ::unlinkat(folder_fd_, name.c_str(), 0);  // of a process that died
  writing->fd_ = ::openat(folder_fd_, name.c_str(), kMakeFlags | O_EXCL, 0600);
  if (writing->fd_ < 0) return base::ErrnoError("making " + name, errno);
  return writing;
}

Result<std::unique_ptr<LeasedFile>> SymbolCache::Finish(Writing& writing) {
  const int fd = std::exchange(writing.fd_, -1);
  if (writing.lock_fd_ < 0) return LeasedFile::AdoptUnnamed(fd);
  ::close(fd);
  return LeasedFile::Open(folder_fd_, NameOf(writing.key_, kPartEnd));
}

Result<void> SymbolCache::Keep(Writing& writing) {
  if (writing.lock_fd_ < 0) return {};
  const std::string part = NameOf(writing.key_, kPartEnd);
  const std::string index = NameOf(writing.key_, kIndexEnd);
  if (::renameat(folder_fd_, part.c_str(), folder_fd_, index.c_str()) != 0) {
    return base::ErrnoError("renaming " + part, errno);
  }
  return {};
}

void SymbolCache::Discard(Writing& writing) {
  if (writing.fd_ >= 0) ::close(std::exchange(writing.fd_, -1));
  if (writing.lock_fd_ >= 0) ::unlinkat(folder_fd_, NameOf(writing.key_, kPartEnd).c_str(), 0);
}

uint64_t SymbolCache::bytes_max_of_one() const {
  struct statvfs disk{};
  const int result = has_folder() ? ::fstatvfs(folder_fd_, &disk) : ::statvfs("/var/tmp", &disk);
  if (result != 0) return options_.bytes_max;
  return std::min<uint64_t>(options_.bytes_max, disk.f_bavail * disk.f_frsize / 2);
}

void SymbolCache::Trim() {
  if (!has_folder()) return;
  std::vector<CachedFile> files = ListFiles(folder_fd_);
  std::sort(files.begin(), files.end(), [](const CachedFile& a, const CachedFile& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  uint64_t bytes = 0;
  size_t notes = 0;
  for (const CachedFile& file : files) {
    bytes += file.bytes;
    if (EndsWith(file.name, kNoteEnd)) ++notes;
  }
  const time_t now = ::time(nullptr);
  for (const CachedFile& file : files) {
    const bool is_note = EndsWith(file.name, kNoteEnd);
    const bool is_part = EndsWith(file.name, kPartEnd);
    const bool goes = is_part   ? now - file.used.tv_sec > kPartAgeMaxS
                      : is_note ? notes > kNotesMax
                                : bytes > options_.bytes_max;
    if (!goes || ::unlinkat(folder_fd_, file.name.c_str(), 0) != 0) continue;
    bytes -= file.bytes;
    if (is_note) --notes;
    ++removed_files_;
  }
}

CacheUsage SymbolCache::Usage() const {
  CacheUsage usage;
  if (!has_folder()) return usage;
  for (const CachedFile& file : ListFiles(folder_fd_)) {
    ++usage.files;
    usage.bytes += file.bytes;
  }
  return usage;
}

}  // namespace vesta::agent::naming
