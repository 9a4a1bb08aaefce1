// Labels of a process: which service it belongs to, and where it runs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vesta::agent::process {

// Which rule gave the service its name; the first that applies.
enum class ServiceRule : uint8_t {
  kUnknown,              // the process was gone before it could be asked
  kServiceNameVariable,  // OTEL_SERVICE_NAME
  kResourceAttributes,   // service.name in OTEL_RESOURCE_ATTRIBUTES
  kUnit,                 // the systemd unit
  kContainer,            // the first digits of the container's id
  kProgram,              // the name of the executable
};

// Stable lower-case name of a rule, for people: "environment variable", "systemd unit", ...
const char* ServiceRuleName(ServiceRule rule);

constexpr size_t kLabelBytesMax = 256;

// Shape:  texts are valid UTF-8 without control characters, at most kLabelBytesMax bytes; empty =
//         does not apply. `executable` is the path as the process sees it.
struct Labels {
  std::string service_name;
  std::string service_version;
  std::string container_id;
  std::string pod_uid;
  std::string unit;
  std::string executable;
  ServiceRule rule = ServiceRule::kUnknown;
  bool known = false;  // read from the process itself
  // It was gone before that: what a process told that it was forked from, which is assumed to hold
  // for the child as well; `executable` is its own. Neither: only `executable` may be set.
  bool inherited = false;
  bool opted_out = false;        // VESTA_PROFILE=off in its environment: it is not to be sampled
  bool opt_out_unclear = false;  // VESTA_PROFILE is there and no word for yes or no: it is sampled
  friend auto operator<=>(const Labels&, const Labels&) = default;
};

struct LabelSources {
  std::string_view executable;  // target of /proc/PID/exe
  std::string_view comm;        // stands in where the executable cannot be read
  std::string_view cgroup;      // text of /proc/PID/cgroup
  std::string_view environ;     // text of /proc/PID/environ
};

// Everything in the environment except the three variables is ignored and not kept.
// Errors: none; a source that is empty or damaged gives nothing, and the next rule speaks.
Labels MakeLabels(const LabelSources& sources);

// Labels of a process that is gone. Control groups and environment are handed down at fork and
// exec, unless someone moved or changed them in between, which is not seen: a container's first
// process that lives only milliseconds may count as one of the container manager's.
Labels InheritLabels(const Labels& parent);

// The same labels of a process that runs another program: `executable` is the path that it mapped,
// as it saw it; empty = not known yet.
Labels WithExecutable(Labels labels, std::string_view executable, std::string_view comm);

// Cuts foreign text to kLabelBytesMax; control characters and bytes that are no UTF-8 become '?'.
std::string CleanLabel(std::string_view text);

}  // namespace vesta::agent::process
