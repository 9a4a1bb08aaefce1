#include "src/store/label_alias.h"

#include <algorithm>
#include <array>

namespace vesta::store {
namespace {

constexpr auto kAliases = std::to_array<LabelAlias>({
    {"cluster", "k8s.cluster.name"},
    {"container", "container.id"},
    {"deployment", "k8s.deployment.name"},
    {"env", "deployment.environment.name"},
    {"host", "host.name"},
    {"image", "container.image.name"},
    {"instance", "service.instance.id"},
    {"namespace", "k8s.namespace.name"},
    {"node", "host.name"},
    {"pod", "k8s.pod.uid"},
    {"region", "cloud.region"},
    {"service", "service.name"},
    {"unit", "systemd.unit"},
    {"version", "service.version"},
    {"zone", "cloud.availability_zone"},
});
static_assert(std::is_sorted(kAliases.begin(), kAliases.end(),
                             [](const LabelAlias& a, const LabelAlias& b) {
                               return a.alias < b.alias;
                             }));

}  // namespace

std::span<const LabelAlias> LabelAliases() { return kAliases; }

std::string_view ResolveLabelAlias(std::string_view text) {
  const auto at = std::lower_bound(
      kAliases.begin(), kAliases.end(), text,
      [](const LabelAlias& alias, std::string_view wanted) { return alias.alias < wanted; });
  return at != kAliases.end() && at->alias == text ? at->name : text;
}

}  // namespace vesta::store
