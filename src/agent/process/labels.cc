#include "src/agent/process/labels.h"

#include <algorithm>
#include <optional>

#include "src/agent/process/cgroup_parser.h"
#include "src/agent/process/maps_parser.h"
#include "src/base/ascii.h"
#include "src/base/utf8.h"

namespace vesta::agent::process {
namespace {

using base::Trim;

constexpr size_t kShortContainerId = 12;

// First value of a variable, as getenv(3) would find it.
std::string_view FindVariable(std::string_view environ, std::string_view name) {
  while (!environ.empty()) {
    const size_t end = environ.find('\0');
    const std::string_view entry = environ.substr(0, end);
    if (entry.size() > name.size() && entry[name.size()] == '=' &&
        entry.substr(0, name.size()) == name) {
      return entry.substr(name.size() + 1);
    }
    environ.remove_prefix(end == std::string_view::npos ? environ.size() : end + 1);
  }
  return {};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Empty when a percent sign is not followed by two digits.
std::optional<std::string> PercentDecode(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

struct ResourceAttributes {
  std::string service_name;
  std::string service_version;
};

// "key=value,key=value" with percent signs; what is damaged is left out.
ResourceAttributes ParseResourceAttributes(std::string_view text) {
  ResourceAttributes attributes;
  while (!text.empty()) {
    const size_t end = text.find(',');
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = Trim(pair.substr(0, equals));
    std::string* target = key == "service.name"      ? &attributes.service_name
                          : key == "service.version" ? &attributes.service_version
                                                     : nullptr;
    if (target == nullptr) continue;
    if (auto value = PercentDecode(Trim(pair.substr(equals + 1)))) *target = CleanLabel(*value);
  }
  return attributes;
}

bool IsNo(std::string_view word) {
  return word == "off" || word == "0" || word == "no" || word == "false";
}

bool IsYes(std::string_view word) {
  return word == "on" || word == "1" || word == "yes" || word == "true";
}

std::string_view ProgramOf(std::string_view executable) {
  const size_t slash = executable.rfind('/');
  return slash == std::string_view::npos ? executable : executable.substr(slash + 1);
}

}  // namespace

const char* ServiceRuleName(ServiceRule rule) {
  switch (rule) {
    case ServiceRule::kUnknown:
      return "unknown";
    case ServiceRule::kServiceNameVariable:
      return "environment variable";
    case ServiceRule::kResourceAttributes:
      return "resource attributes";
    case ServiceRule::kUnit:
      return "systemd unit";
    case ServiceRule::kContainer:
      return "container";
    case ServiceRule::kProgram:
      return "program";
  }
  return "unknown";
}

std::string CleanLabel(std::string_view text) {
  std::string clean;
  while (!text.empty() && clean.size() < kLabelBytesMax) {
    const size_t length = base::Utf8Length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0 || first < 0x20 || first == 0x7f) {
      clean += '?';
      text.remove_prefix(1);
      continue;
    }
    if (clean.size() + length > kLabelBytesMax) break;
    clean += text.substr(0, length);
    text.remove_prefix(length);
  }
  return clean;
}

Labels MakeLabels(const LabelSources& sources) {
  const CgroupFacts cgroup = ParseCgroup(sources.cgroup);
  ResourceAttributes attributes =
      ParseResourceAttributes(FindVariable(sources.environ, "OTEL_RESOURCE_ATTRIBUTES"));
  std::string service_variable =
      CleanLabel(Trim(FindVariable(sources.environ, "OTEL_SERVICE_NAME")));

  Labels labels;
  labels.known = true;
  const std::string profile = base::LowerCase(Trim(FindVariable(sources.environ, "VESTA_PROFILE")));
  labels.opted_out = IsNo(profile);
  labels.opt_out_unclear = !profile.empty() && !IsNo(profile) && !IsYes(profile);
  labels.container_id = CleanLabel(cgroup.container_id);
  labels.pod_uid = cgroup.pod_uid;
  labels.unit = CleanLabel(cgroup.unit);
  labels.service_version = std::move(attributes.service_version);
  std::string executable(sources.executable);
  StripDeleted(executable);
  labels.executable = CleanLabel(executable);

  if (!service_variable.empty()) {
    labels.rule = ServiceRule::kServiceNameVariable;
    labels.service_name = std::move(service_variable);
  } else if (!attributes.service_name.empty()) {
    labels.rule = ServiceRule::kResourceAttributes;
    labels.service_name = std::move(attributes.service_name);
  } else if (UnitNamesService(cgroup.unit)) {
    labels.rule = ServiceRule::kUnit;
    labels.service_name = CleanLabel(ServiceOfUnit(cgroup.unit));
  } else if (!labels.container_id.empty()) {
    labels.rule = ServiceRule::kContainer;
    labels.service_name = CleanLabel(cgroup.container_id.substr(0, kShortContainerId));
  } else {
    labels.rule = ServiceRule::kProgram;
    labels.service_name = CleanLabel(ProgramOf(executable));
    if (labels.service_name.empty()) labels.service_name = CleanLabel(sources.comm);
  }
  return labels;
}

Labels InheritLabels(const Labels& parent) {
  Labels labels = parent;
  labels.known = false;
  labels.inherited = true;
  return labels;
}

Labels WithExecutable(Labels labels, std::string_view executable, std::string_view comm) {
  labels.executable = CleanLabel(executable);
  if (labels.rule == ServiceRule::kProgram) {
    labels.service_name = CleanLabel(ProgramOf(executable.empty() ? comm : executable));
  }
  return labels;
}

}  // namespace vesta::agent::process
