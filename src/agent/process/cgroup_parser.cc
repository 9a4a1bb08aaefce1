#include "src/agent/process/cgroup_parser.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vesta::agent::process {
namespace {

constexpr size_t kPathParts = 64;  // deeper paths keep their last parts only

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool AllOf(std::string_view text, bool (*accepts)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), accepts);
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!StartsWith(text, prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!EndsWith(text, suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

bool IsContainerHash(std::string_view text) { return text.size() == 64 && AllOf(text, IsHex); }

// Fargate: 32 hex digits, a dash, and a number.
bool IsTaskId(std::string_view text) {
  return text.size() > 33 && text[32] == '-' && AllOf(text.substr(0, 32), IsHex) &&
         AllOf(text.substr(33), IsDigit);
}

int HexValue(char c) { return IsDigit(c) ? c - '0' : c - 'a' + 10; }

// systemd writes characters that a unit name may not hold as \xNN.
std::string UndoEscapes(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\x" && i + 3 < text.size() && IsHex(text[i + 2]) &&
        IsHex(text[i + 3])) {
      plain += static_cast<char>(HexValue(text[i + 2]) * 16 + HexValue(text[i + 3]));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope, SLICE:RUNTIME:ID, ID.
// (crio-conmon-ID and libpod-conmon-ID hold the monitor, not the container.)
std::string HashedContainer(std::string_view part) {
  if (const size_t colon = part.rfind(':'); colon != std::string_view::npos) {
    part.remove_prefix(colon + 1);
  }
  TakeSuffix(part, ".scope");
  if (IsTaskId(part)) return std::string(part);
  if (const size_t dash = part.rfind('-'); dash != std::string_view::npos) {
    if (EndsWith(part.substr(0, dash), "conmon")) return {};
    part.remove_prefix(dash + 1);
  }
  return IsContainerHash(part) ? std::string(part) : std::string();
}

// Machines of systemd-nspawn and LXC, which go by name. `parent` is the part before.
std::string NamedMachine(std::string_view parent, std::string_view part) {
  if (std::string_view name = part;
      TakePrefix(name, "systemd-nspawn@") && TakeSuffix(name, ".service")) {
    return UndoEscapes(name);
  }
  if (std::string_view name = part; parent == "machine.slice" && TakePrefix(name, "machine-") &&
                                    TakeSuffix(name, ".scope") && !StartsWith(name, "qemu\\x2d")) {
    return UndoEscapes(name);
  }
  if (std::string_view name = part; TakePrefix(name, "lxc.payload.")) return std::string(name);
  if (parent == "lxc" || parent == "lxc.payload") return std::string(part);
  return {};
}

// A 32-digit or dashed UUID after "pod", as the kubelet writes it.
std::string PodUid(std::string_view part) {
  const size_t colon = part.find(':');
  part = part.substr(0, colon);
  TakeSuffix(part, ".slice");
  const size_t at = part.rfind("pod");
  if (at == std::string_view::npos || (at != 0 && part[at - 1] != '-')) return {};
  std::string uid(part.substr(at + 3));
  if (uid.size() == 32 && AllOf(uid, IsHex)) return uid;
  if (uid.size() != 36) return {};
  for (size_t i = 0; i < uid.size(); ++i) {
    const bool is_separator = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_separator && (uid[i] == '_' || uid[i] == '-')) {
      uid[i] = '-';
    } else if (is_separator || !IsHex(uid[i])) {
      return {};
    }
  }
  return uid;
}

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty() && parts.size() < kPathParts) {
    const size_t slash = path.rfind('/');
    const std::string_view part = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!part.empty()) parts.push_back(part);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

CgroupFacts FactsOfPath(std::string_view path) {
  const auto parts = SplitPath(path);
  CgroupFacts facts;
  size_t after_container = 0;
  for (size_t i = parts.size(); i-- > 0 && facts.container_id.empty();) {
    facts.container_id = HashedContainer(parts[i]);
    if (facts.container_id.empty()) {
      facts.container_id = NamedMachine(i > 0 ? parts[i - 1] : std::string_view(), parts[i]);
    }
    if (!facts.container_id.empty()) after_container = i + 1;
  }
  for (size_t i = parts.size(); i-- > 0 && facts.pod_uid.empty();) facts.pod_uid = PodUid(parts[i]);
  for (size_t i = parts.size(); i-- > after_container && facts.unit.empty();) {
    if (std::string_view name = parts[i];
        (TakeSuffix(name, ".service") || TakeSuffix(name, ".scope")) && !name.empty()) {
      facts.unit = parts[i];
    }
  }
  return facts;
}

// The unit that one line tells, kept by how much it is to be trusted.
class UnitChoice {
 public:
  void Offer(std::string&& unit, bool is_systemds) {
    if (unit.empty() || (!unit_.empty() && (is_systemds_ || !is_systemds))) return;
    unit_ = std::move(unit);
    is_systemds_ = is_systemds;
  }
  std::string& unit() { return unit_; }

 private:
  std::string unit_;
  bool is_systemds_ = false;  // systemd's own hierarchy is right about units, others mostly are
};

}  // namespace

CgroupFacts ParseCgroup(std::string_view text) {
  CgroupFacts facts;
  UnitChoice unit_outside;
  UnitChoice unit_of_container;
  while (!text.empty()) {
    const size_t line_end = text.find('\n');
    const std::string_view line = text.substr(0, line_end);
    text.remove_prefix(line_end == std::string_view::npos ? text.size() : line_end + 1);
    const size_t number_end = line.find(':');
    if (number_end == std::string_view::npos) continue;
    const size_t controllers_end = line.find(':', number_end + 1);
    if (controllers_end == std::string_view::npos) continue;
    const std::string_view controllers =
        line.substr(number_end + 1, controllers_end - number_end - 1);
    CgroupFacts here = FactsOfPath(line.substr(controllers_end + 1));
    // On hosts with both versions, a line may not know of the container: its unit is then that of
    // the container runtime.
    UnitChoice& choice = here.container_id.empty() ? unit_outside : unit_of_container;
    choice.Offer(std::move(here.unit), controllers.empty() || controllers == "name=systemd");
    if (facts.container_id.empty()) facts.container_id = std::move(here.container_id);
    if (facts.pod_uid.empty()) facts.pod_uid = std::move(here.pod_uid);
  }
  facts.unit = std::move((facts.container_id.empty() ? unit_outside : unit_of_container).unit());
  return facts;
}

bool UnitNamesService(std::string_view unit) {
  constexpr std::array<std::string_view, 7> kHowStarted = {
      "session-", "init.scope", "run-", "vte-spawn-", "user@", "crio-conmon-", "libpod-conmon-"};
  return !unit.empty() && std::none_of(kHowStarted.begin(), kHowStarted.end(),
                                       [&](auto prefix) { return StartsWith(unit, prefix); });
}

std::string ServiceOfUnit(std::string_view unit) {
  if (!TakeSuffix(unit, ".service")) TakeSuffix(unit, ".scope");
  return UndoEscapes(unit);
}

}  // namespace vesta::agent::process
