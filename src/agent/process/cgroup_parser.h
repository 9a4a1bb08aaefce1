// What the control group of a process tells about where it runs: /proc/PID/cgroup.
#pragma once

#include <string>
#include <string_view>

namespace vesta::agent::process {

struct CgroupFacts {
  std::string
      container_id;     // 64 hex digits, a Fargate task id, or the name of an nspawn/LXC machine
  std::string pod_uid;  // Kubernetes, with dashes where the kubelet wrote underscores
  std::string unit;     // systemd's innermost .service or .scope outside or inside the container
  friend bool operator==(const CgroupFacts&, const CgroupFacts&) = default;
};

// Shape:  lines "number:controllers:/path"; versions 1 and 2, also mixed. A container is told by
// the
//         last part of the path that looks like one; the unit is the last one after it (so that
//         docker's own unit is not taken for that of the containers below it).
// Errors: none; what is not understood is left empty.
CgroupFacts ParseCgroup(std::string_view text);

// Whether a unit says what runs (nginx.service) and not only how it was started (session-3.scope).
bool UnitNamesService(std::string_view unit);

// "nginx.service" -> "nginx", with systemd's \xNN undone.
std::string ServiceOfUnit(std::string_view unit);

}  // namespace vesta::agent::process
