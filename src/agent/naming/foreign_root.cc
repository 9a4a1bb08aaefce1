#include "src/agent/naming/foreign_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace vesta::agent::naming {
namespace {

bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

std::unique_ptr<ForeignRoot> ForeignRoot::Hold(uint32_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  struct stat its_mounts{};
  struct stat our_mounts{};
  if (::stat((process + "/ns/mnt").c_str(), &its_mounts) != 0 ||
      ::stat("/proc/self/ns/mnt", &our_mounts) != 0) {
    return nullptr;
  }
  base::Descriptor folder(::open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd() < 0) return nullptr;
  struct stat its_root{};
  struct stat our_root{};
  if (::fstat(folder.fd(), &its_root) != 0 || ::stat("/", &our_root) != 0) return nullptr;
  if (IsSame(its_mounts, our_mounts) && IsSame(its_root, our_root)) return nullptr;
  return std::unique_ptr<ForeignRoot>(new ForeignRoot(std::move(folder)));
}

std::string ForeignRoot::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(folder_.fd());
}

}  // namespace vesta::agent::naming
