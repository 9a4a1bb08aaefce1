// Variables of the environment under our prefix: which there are, and what is said of others.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/settings/setting_collector.h"

namespace vesta::cli {

// One that is read besides those of options.
struct OtherVariable {
  std::string_view name;
  std::string_view values;
  std::string_view doc;  // empty = of the tools of this tree
};
std::span<const OtherVariable> OtherVariables();

// Of variables that say nothing to vesta, although their names or values look as if they should: a
// line for each that is empty, misspelt or wrong, and one for all that are not known. They are no
// problems, since the environment is shared with other programs: a service that is called vesta has
// VESTA_PORT in each pod of Kubernetes.
std::vector<std::string> EnvironmentWarnings(const Inputs& inputs);

}  // namespace vesta::cli
