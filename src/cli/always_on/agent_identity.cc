#include "src/cli/always_on/agent_identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "src/base/ascii.h"
#include "src/base/byte_source.h"
#include "src/base/utf8.h"
#include "src/book/book.h"
#include "src/cli/always_on/agent_session.h"
#include "src/ingest/pusher_labels.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr size_t kIdDigits = 32;

bool IsId(std::string_view text) {
  return text.size() == kIdDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::string> MakeId() {
  std::array<unsigned char, kIdDigits / 2> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return base::ErrnoError("making the agent's id", errno);
  }
  std::string id;
  char digits[3];
  for (const unsigned char byte : bytes) {
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    id += digits;
  }
  return id;
}

// The whole file appears at once, and only if there is none: two agents that start at the same
// moment agree.
Result<void> WriteOnce(const std::string& path, const std::string& text) {
  const std::string aside = path + "." + std::to_string(::getpid());
  const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return base::ErrnoError("writing " + aside, errno);
  int problem = 0;
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    problem = errno != 0 ? errno : ENOSPC;
  }
  if (::fsync(fd) != 0 && problem == 0) problem = errno;
  if (::close(fd) != 0 && problem == 0) problem = errno;
  if (problem == 0 && ::link(aside.c_str(), path.c_str()) != 0 && errno != EEXIST) problem = errno;
  ::unlink(aside.c_str());
  if (problem != 0) return base::ErrnoError("writing " + path, problem);
  return {};
}

}  // namespace

Result<std::string> LoadAgentId(const std::string& state_dir) {
  RETURN_IF_ERROR(book::MakeStateFolder(state_dir));
  const std::string path = state_dir + "/agent_id";
  if (::access(path.c_str(), F_OK) != 0) {
    ASSIGN_OR_RETURN(const std::string fresh, MakeId());
    RETURN_IF_ERROR(WriteOnce(path, fresh + "\n"));
  }
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path, 4096));
  const std::string id(base::Trim(text));
  if (!IsId(id)) {
    return Error(ErrorCode::kCorrupt, path +
                                          " is no agent's id (32 hex digits): remove it, and "
                                          "the agent takes a new one");
  }
  return id;
}

std::string LifeOfAgent() {
  std::string boot = "unknown";
  if (const auto text = base::ReadSmallFile("/proc/sys/kernel/random/boot_id", 4096); text.ok()) {
    boot = base::Trim(*text);
  }
  char started[20];
  std::snprintf(started, sizeof(started), ".%llx", static_cast<unsigned long long>(NowMonoNs()));
  return boot + started;
}

Result<batch::Labels> HostLabels(const std::vector<std::string>& given) {
  batch::Labels labels;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    labels.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  ASSIGN_OR_RETURN(labels, ingest::PusherLabels(std::move(labels)));
  const bool has_host = std::any_of(labels.begin(), labels.end(), [](const batch::Label& label) {
    return label.name == "host.name";
  });
  std::array<char, 256> host{};
  if (!has_host && ::gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0') {
    labels.push_back({"host.name", base::ToUtf8(host.data())});
    std::sort(labels.begin(), labels.end());
  }
  return labels;
}

}  // namespace vesta::cli
