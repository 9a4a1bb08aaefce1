#include "src/server/port_owner.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

#include "src/base/ascii.h"
#include "src/base/byte_source.h"

namespace vesta::server {
namespace {

constexpr size_t kTableBytesMax = size_t{8} << 20;
constexpr size_t kNameBytesMax = 4096;
constexpr unsigned kListening = 0x0a;  // TCP_LISTEN

// Calls `see` with each name in a folder until it returns true; returns whether it did.
template <typename See>
bool AnyNameIn(const std::string& folder, const See& see) {
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(folder.c_str()), &::closedir);
  if (names == nullptr) return false;
  while (const dirent* const entry = ::readdir(names.get())) {
    if (see(std::string(entry->d_name))) return true;
  }
  return false;
}

// What the descriptor of the socket that listens is a link to. Source: proc(5), /proc/net/tcp.
std::optional<std::string> ListenerLink(const std::string& table, uint16_t port) {
  const auto text = base::ReadSmallFile(table, kTableBytesMax);
  if (!text.ok()) return std::nullopt;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    unsigned at = 0;
    unsigned state = 0;
    unsigned long inode = 0;
    const int found = std::sscanf(
        line.c_str(), " %*u: %*[0-9A-F]:%x %*s %x %*s %*s %*s %*u %*u %lu", &at, &state, &inode);
    if (found == 3 && at == port && state == kListening) {
      return "socket:[" + std::to_string(inode) + "]";
    }
  }
  return std::nullopt;
}

bool HoldsLink(const std::string& process, const std::string& link) {
  const std::string folder = process + "/fd";
  return AnyNameIn(folder, [&](const std::string& name) {
    std::array<char, 64> target{};
    const ssize_t length = ::readlink((folder + "/" + name).c_str(), target.data(), target.size());
    return length > 0 && link == std::string_view(target.data(), static_cast<size_t>(length));
  });
}

}  // namespace

std::string PortOwner(uint16_t port) {
  auto link = ListenerLink("/proc/net/tcp", port);
  if (!link) link = ListenerLink("/proc/net/tcp6", port);
  if (!link) return "";
  std::string owner;
  AnyNameIn("/proc", [&](const std::string& name) {
    if (name.find_first_not_of("0123456789") != std::string::npos) return false;
    const std::string process = "/proc/" + name;
    if (!HoldsLink(process, *link)) return false;
    const auto comm = base::ReadSmallFile(process + "/comm", kNameBytesMax);
    owner = (comm.ok() ? std::string(base::Trim(*comm)) : "a program") + " (process " + name + ")";
    return true;
  });
  return owner;
}

}  // namespace vesta::server
