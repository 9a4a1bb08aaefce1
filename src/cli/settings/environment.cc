#include "src/cli/settings/environment.h"

#include <algorithm>

#include "src/base/ascii.h"
#include "src/cli/settings/nearest_word.h"
#include "src/cli/settings/option_table.h"
#include "src/cli/settings/values.h"

namespace vesta::cli {
namespace {

constexpr std::string_view kPrefix = "VESTA_";

constexpr OtherVariable kOthers[] = {
    {"VESTA_CONFIG", "FILE", "config file to read instead of the usual ones, as `--config`"},
    {"VESTA_DUCKDB_LIBRARY", "FILE",
     "libduckdb.so of the store, where it is not beside the program"},
    {"VESTA_PROFILE", "yes or no",
     "of a program that is profiled: no, or off, and it is not sampled by anybody"},
    {"VESTA_BUILD", "DIR", ""},
    {"VESTA_CONTRACT_SEED", "N", ""},
    {"VESTA_CONTRACT_SEEDS", "N", ""},
    {"VESTA_ROOT", "DIR", ""},
    {"VESTA_TEST_KEEP", "1", ""},
};

const OtherVariable* FindOther(std::string_view name) {
  const auto* found = std::ranges::find(kOthers, name, &OtherVariable::name);
  return found == std::end(kOthers) ? nullptr : found;
}

// The row that may stand in the environment, else one that may not; null = no option's name.
const OptionSpec* FindOptionOf(std::string_view name) {
  const OptionSpec* best = nullptr;
  for (const OptionSpec& option : AllOptions()) {
    if (EnvironmentName(option) != name) continue;
    if (option.scope == OptionScope::kEverywhere) return &option;
    best = &option;
  }
  return best;
}

// The name that was meant; "" = none is near.
std::string NearestVariable(std::string_view name) {
  std::vector<std::string> known;  // without the prefix, which would make all of them near
  const auto add = [&known](std::string_view each) {
    known.emplace_back(each.substr(kPrefix.size()));
  };
  for (const OptionSpec& option : AllOptions()) {
    if (option.scope == OptionScope::kEverywhere) add(EnvironmentName(option));
  }
  for (const OtherVariable& other : kOthers) {
    if (!other.doc.empty()) add(other.name);
  }
  const std::string near = NearestWord(std::string(name.substr(kPrefix.size())), known);
  return near.empty() ? "" : std::string(kPrefix) + near;
}

// "" = all is well with it.
std::string WarningOf(const OptionSpec& option, const std::string& name, std::string_view value) {
  if (option.scope != OptionScope::kEverywhere) {
    return name + " in the environment is not heeded: give --" + std::string(option.flag) +
           " on the command line";
  }
  if (!value.empty()) return "";  // what is wrong was refused with the options
  return name + " in the environment is empty, as if it were not there: give " +
         PossibleValues(option);
}

std::string WarningOf(const OtherVariable& other, const std::string& name, std::string_view value) {
  if (value.empty() && !other.doc.empty()) {
    return name + " in the environment is empty, as if it were not there: give " +
           std::string(other.values);
  }
  if (name == "VESTA_PROFILE" && !ParseFlag(base::LowerCase(value)).ok()) {
    return name + "=" + std::string(value) + " in the environment is not heeded: give " +
           std::string(other.values);
  }
  return "";
}

}  // namespace

std::span<const OtherVariable> OtherVariables() { return kOthers; }

std::vector<std::string> EnvironmentWarnings(const Inputs& inputs) {
  std::vector<std::string> warnings;
  std::string strangers;
  for (const auto& [name, value] : inputs.environment) {
    if (!name.starts_with(kPrefix)) continue;
    std::string warning;
    if (const OptionSpec* option = FindOptionOf(name)) {
      warning = WarningOf(*option, name, value);
    } else if (const OtherVariable* other = FindOther(name)) {
      warning = WarningOf(*other, name, value);
    } else if (const std::string near = NearestVariable(name); !near.empty()) {
      warning = name + " in the environment is not known; did you mean " + near + "?";
    } else {
      strangers += (strangers.empty() ? "" : ", ") + name;
    }
    if (!warning.empty()) warnings.push_back(warning);
  }
  if (!strangers.empty()) {
    warnings.push_back(strangers +
                       " in the environment: not known; `vesta help --markdown` lists "
                       "the names that are");
  }
  return warnings;
}

}  // namespace vesta::cli
