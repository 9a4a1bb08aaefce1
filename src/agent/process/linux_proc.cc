#include "src/agent/process/linux_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

#include "src/agent/process/maps_parser.h"
#include "src/base/descriptor.h"

namespace vesta::agent::process {
namespace {

using base::Descriptor;
using base::ErrnoError;
using base::Error;
using base::ErrorCode;
using base::Result;

constexpr size_t kMapsBytesMax = 64u << 20;
constexpr size_t kEnvironBytesMax = 2u << 20;
constexpr size_t kTextBytesMax = 1u << 20;

struct FileName {
  const char* name;
  size_t size_bytes_max;
};

FileName NameOf(ProcFile file) {
  switch (file) {
    case ProcFile::kMaps:
      return {"maps", kMapsBytesMax};
    case ProcFile::kStat:
      return {"stat", kTextBytesMax};
    case ProcFile::kStatus:
      return {"status", kTextBytesMax};
    case ProcFile::kComm:
      return {"comm", kTextBytesMax};
    case ProcFile::kCmdline:
      return {"cmdline", kEnvironBytesMax};
    case ProcFile::kEnviron:
      return {"environ", kEnvironBytesMax};
    case ProcFile::kCgroup:
      return {"cgroup", kTextBytesMax};
  }
  CHECK(false);
}

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_nsec};
}

uint64_t MonotonicNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(Nanoseconds(now));
}

FileIdentity IdentityOf(const struct stat& status) {
  FileIdentity identity;
  identity.device = status.st_dev;
  identity.inode = status.st_ino;
  identity.size_bytes = static_cast<uint64_t>(status.st_size);
  identity.mtime_ns = Nanoseconds(status.st_mtim);
  identity.ctime_ns = Nanoseconds(status.st_ctim);
  return identity;
}

Error OtherFile(const MappedFile& file) {
  return Error(ErrorCode::kNotFound, file.path + " is another file now than the one mapped");
}

// btrfs and overlayfs number their files differently in /proc/PID/maps and in stat(2).
enum class Numbering { kSame, kOtherDevices, kOther };
Numbering NumberingOf(uint64_t file_system) {
  if (file_system == BTRFS_SUPER_MAGIC) return Numbering::kOtherDevices;
  if (file_system == OVERLAYFS_SUPER_MAGIC) return Numbering::kOther;
  return Numbering::kSame;
}

// Whether a file that was reached by path is the mapped one.
template <typename StatFs>
bool SameFile(const MappedFile& file, const struct stat& status, const StatFs& stat_file_system) {
  if (file.inode == 0) return true;  // nothing known here; the caller compares contents
  if (file.inode == status.st_ino && file.device == status.st_dev) return true;
  struct statfs file_system{};
  if (stat_file_system(&file_system) != 0) return false;
  const Numbering numbering = NumberingOf(static_cast<uint64_t>(file_system.f_type));
  return numbering != Numbering::kSame && file.inode == status.st_ino;
}

// The link of map_files leads to the mapped inode itself, so only a mapping that has meanwhile been
// replaced by another one at the same addresses has to be told.
template <typename StatFs>
bool SameMapping(const MappedFile& file, const struct stat& status,
                 const StatFs& stat_file_system) {
  if (file.inode == 0 || file.inode == status.st_ino) return true;
  struct statfs file_system{};
  return stat_file_system(&file_system) == 0 &&
         NumberingOf(static_cast<uint64_t>(file_system.f_type)) == Numbering::kOther;
}

// The entries of a folder whose names are numbers.
Result<std::vector<uint32_t>> ListNumbers(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return ErrnoError("listing " + path, errno);
  std::vector<uint32_t> numbers;
  while (const dirent* entry = ::readdir(folder)) {
    const char* end = entry->d_name + std::strlen(entry->d_name);
    uint32_t number = 0;
    const auto parsed = std::from_chars(entry->d_name, end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end) numbers.push_back(number);
  }
  ::closedir(folder);
  return numbers;
}

// A file that was looked up but not opened: its descriptor can only be asked what it is.
struct Found {
  Descriptor descriptor;
  struct stat status;
};

// Looks a path up with the folder `root` as "/".
Result<Found> FindIn(const std::string& root, const std::string& path) {
  const Descriptor root_folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root_folder.fd() < 0) return ErrnoError("opening " + root, errno);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED;
  auto look_up = [&] {
    return static_cast<int>(
        ::syscall(SYS_openat2, root_folder.fd(), path.c_str(), &how, sizeof(how)));
  };
  int fd = look_up();
  if (fd < 0 && errno == EAGAIN) fd = look_up();  // a rename elsewhere may have disturbed it
  if (fd < 0 && errno == EINVAL) {                // before Linux 5.12
    how.resolve &= ~uint64_t{RESOLVE_CACHED};
    fd = look_up();
  }
  if (fd < 0) return ErrnoError("finding " + path, errno);
  Found found{Descriptor(fd), {}};
  if (::fstat(fd, &found.status) != 0) return ErrnoError("reading about " + path, errno);
  return found;
}

Result<Found> FindMappedByPath(const std::string& root, const MappedFile& file) {
  ASSIGN_OR_RETURN(Found found, FindIn(root, file.path));
  if (!SameFile(file, found.status,
                [&](struct statfs* out) { return ::fstatfs(found.descriptor.fd(), out); })) {
    return OtherFile(file);
  }
  return found;
}

// -1 with errno, as open(2).
int OpenFound(const Descriptor& found) {
  const std::string link = "/proc/self/fd/" + std::to_string(found.fd());
  return ::open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// Opens the file on a copy of its mount that nobody sees, so that the mount itself stays free to be
// unmounted while the agent keeps the file. -1 where that is not possible: without the rights,
// before Linux 5.2, or in another mount namespace, whose mounts go with it.
int OpenOnOwnMount(const Descriptor& found) {
  const Descriptor copy(::open_tree(
      found.fd(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | static_cast<unsigned>(AT_EMPTY_PATH)));
  return copy.fd() < 0 ? -1 : OpenFound(copy);
}

// The file systems of the system's own programs are not unmounted while it runs.
bool StaysMounted(dev_t device) {
  for (const char* path : {"/", "/usr"}) {
    struct stat status{};
    if (::stat(path, &status) == 0 && status.st_dev == device) return true;
  }
  return false;
}

// Opens what was found, once it is known to be a regular file. Letting go of a copied mount takes
// the kernel up to 15 ms, in which the agent stands still: that may take a tenth of the time, and
// files met in between are opened where they are. `copy_next_mono_ns` is when to copy again.
Result<OpenedFile> Reopen(const Found& found, const std::string& name,
                          uint64_t& copy_next_mono_ns) {
  if (!S_ISREG(found.status.st_mode)) {
    return Error(ErrorCode::kInvalidInput, name + " is not a regular file");
  }
  int fd = -1;
  const uint64_t start_mono_ns = MonotonicNs();
  const bool stays_mounted = StaysMounted(found.status.st_dev);
  const bool holds_mount = !stays_mounted && start_mono_ns < copy_next_mono_ns;
  if (!stays_mounted && !holds_mount) {
    fd = OpenOnOwnMount(found.descriptor);
    const uint64_t end_mono_ns = MonotonicNs();
    copy_next_mono_ns = end_mono_ns + 9 * (end_mono_ns - start_mono_ns);
  }
  if (fd < 0) fd = OpenFound(found.descriptor);
  if (fd < 0) return ErrnoError("opening " + name, errno);
  ASSIGN_OR_RETURN(std::shared_ptr<const base::ByteSource> source,
                   base::FileSource::Adopt(fd, name));
  return OpenedFile{std::move(source), IdentityOf(found.status), found.status.st_nlink == 0,
                    holds_mount};
}

}  // namespace

LinuxProc::LinuxProc(std::string proc_root) : root_(std::move(proc_root)) {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  tick_ns_ = 1'000'000'000u / static_cast<uint64_t>(ticks > 0 ? ticks : 100);
}

std::string LinuxProc::PidPath(uint32_t pid, const char* name) const {
  return root_ + "/" + std::to_string(pid) + "/" + name;
}

std::string LinuxProc::MapFilesPath(uint32_t pid, const MappedFile& file) const {
  char name[64];
  std::snprintf(name, sizeof(name), "map_files/%llx-%llx",
                static_cast<unsigned long long>(file.start),
                static_cast<unsigned long long>(file.end));
  return PidPath(pid, name);
}

std::string LinuxProc::RootPath(uint32_t pid) const {
  return pid == 0 ? "/" : PidPath(pid, "root");
}

uint64_t LinuxProc::NowMonoNs() const { return MonotonicNs(); }

Result<std::vector<uint32_t>> LinuxProc::ListPids() const { return ListNumbers(root_); }

Result<std::string> LinuxProc::Read(uint32_t pid, ProcFile file) const {
  const FileName name = NameOf(file);
  auto text = base::ReadSmallFile(PidPath(pid, name.name), name.size_bytes_max);
  if (!text.ok() || !text->empty() || file == ProcFile::kCmdline) return text;
  const uint32_t tid = OtherThread(pid);
  if (tid == 0) return text;
  return base::ReadSmallFile(PidPath(tid, name.name), name.size_bytes_max);
}

Result<std::string> LinuxProc::ReadExe(uint32_t pid) const {
  const std::string path = PidPath(pid, "exe");
  std::string target(4096, '\0');
  ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0 && errno == ENOENT) {
    const uint32_t tid = OtherThread(pid);
    errno = ENOENT;
    if (tid != 0) {
      length = ::readlink(PidPath(tid, "exe").c_str(), target.data(), target.size());
    }
  }
  if (length < 0) return ErrnoError("reading " + path, errno);
  target.resize(static_cast<size_t>(length));
  return target;
}

// A thread that lives after the first one has ended: then /proc/PID shows neither memory nor root,
// but /proc/TID does. 0 when there is none.
uint32_t LinuxProc::OtherThread(uint32_t pid) const {
  const auto tids = ListNumbers(PidPath(pid, "task"));
  if (!tids.ok()) return 0;
  const auto other =
      std::find_if(tids->begin(), tids->end(), [pid](uint32_t tid) { return tid != pid; });
  return other == tids->end() ? 0 : *other;
}

Result<FileIdentity> LinuxProc::StatMapped(uint32_t pid, const MappedFile& file) const {
  auto identity = StatMappedBy(pid, file);
  if (identity.ok() || pid == 0 || ::access(RootPath(pid).c_str(), F_OK) == 0) return identity;
  const uint32_t tid = OtherThread(pid);
  return tid == 0 ? std::move(identity) : StatMappedBy(tid, file);
}

Result<OpenedFile> LinuxProc::OpenMapped(uint32_t pid, const MappedFile& file) const {
  auto opened = OpenMappedBy(pid, file);
  if (opened.ok() || pid == 0 || ::access(RootPath(pid).c_str(), F_OK) == 0) return opened;
  const uint32_t tid = OtherThread(pid);
  return tid == 0 ? std::move(opened) : OpenMappedBy(tid, file);
}

Result<FileIdentity> LinuxProc::StatMappedBy(uint32_t pid, const MappedFile& file) const {
  const std::string link = MapFilesPath(pid, file);
  struct stat status{};
  if (::stat(link.c_str(), &status) == 0 &&
      SameMapping(file, status, [&](struct statfs* out) { return ::statfs(link.c_str(), out); })) {
    return IdentityOf(status);
  }
  ASSIGN_OR_RETURN(const Found found, FindMappedByPath(RootPath(pid), file));
  return IdentityOf(found.status);
}

Result<OpenedFile> LinuxProc::OpenMappedBy(uint32_t pid, const MappedFile& file) const {
  const std::string link = MapFilesPath(pid, file);
  Descriptor mapped(::open(link.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (mapped.fd() >= 0 && ::fstat(mapped.fd(), &status) == 0 &&
      SameMapping(file, status, [&](struct statfs* out) { return ::fstatfs(mapped.fd(), out); })) {
    return Reopen({std::move(mapped), status}, file.path, copy_next_mono_ns_);
  }
  ASSIGN_OR_RETURN(const Found found, FindMappedByPath(RootPath(pid), file));
  return Reopen(found, file.path, copy_next_mono_ns_);
}

Result<void> LinuxProc::ReadMemory(uint32_t pid, uint64_t address, std::span<std::byte> out) const {
  const Descriptor memory(::open(PidPath(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (memory.fd() < 0) return ErrnoError("opening the memory of a process", errno);
  const ssize_t count = ::pread(memory.fd(), out.data(), out.size(), static_cast<off_t>(address));
  if (count < 0) return ErrnoError("reading the memory of a process", errno);
  if (static_cast<size_t>(count) != out.size()) {
    return Error(ErrorCode::kNotFound, "a part of it is not mapped");
  }
  return {};
}

Result<std::string> LinuxProc::ReadVdso() const {
  const auto start = static_cast<uint64_t>(::getauxval(AT_SYSINFO_EHDR));
  if (start == 0) return Error(ErrorCode::kUnsupported, "this kernel gives no vDSO to programs");
  // Our own memory, so not through root_, which may be that of another pid namespace.
  ASSIGN_OR_RETURN(const std::string maps, base::ReadSmallFile("/proc/self/maps", kMapsBytesMax));
  MapsParser parser(maps);
  while (const auto entry = parser.Next()) {
    if (entry->start != start) continue;
    return std::string(reinterpret_cast<const char*>(start), entry->end - entry->start);
  }
  return Error(ErrorCode::kNotFound, "the vDSO is not among our own mappings");
}

}  // namespace vesta::agent::process
