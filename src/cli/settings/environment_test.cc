#include "src/cli/settings/environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/cli/settings/invocation.h"
#include "src/cli/settings/option_table.h"

namespace vesta::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;
using Lines = std::vector<std::string>;

Lines WarningsOf(const Variables& environment) {
  Inputs inputs;
  inputs.environment = environment;
  return EnvironmentWarnings(inputs);
}

TEST(EnvironmentTest, OfWhatIsRightNothingIsSaid) {
  Variables all = {{"PATH", ""}, {"VESTA", ""}, {"VESTAL_X", "1"}, {"VESTA_PROFILE", "Off"}};
  for (const OptionSpec& option : AllOptions()) {
    if (option.scope == OptionScope::kEverywhere) all.emplace_back(EnvironmentName(option), "x");
  }
  for (const OtherVariable& other : OtherVariables()) {
    if (other.name != "VESTA_PROFILE") all.emplace_back(other.name, "x");
  }
  EXPECT_EQ(WarningsOf(all), Lines());
}

TEST(EnvironmentTest, WhatIsEmptyMisspeltOrWrongIsNamedWithWhatIsPossible) {
  EXPECT_EQ(
      WarningsOf({{"VESTA_FREQUENCY", ""},
                  {"VESTA_SORT", ""},
                  {"VESTA_QUIET", ""},
                  {"VESTA_DATA", ""},
                  {"VESTA_CONFIG", ""},
                  {"VESTA_PROFILE", "of"},
                  {"VESTA_FREQENCY", "10"},
                  {"VESTA_PID", "10"}}),
      (Lines{"VESTA_FREQUENCY in the environment is empty, as if it were not there: give 1 to "
             "1000, or auto",
             "VESTA_SORT in the environment is empty, as if it were not there: give self or total",
             "VESTA_QUIET in the environment is empty, as if it were not there: give yes or no",
             "VESTA_DATA in the environment is empty, as if it were not there: give DIR",
             "VESTA_CONFIG in the environment is empty, as if it were not there: give FILE",
             "VESTA_PROFILE=of in the environment is not heeded: give yes or no",
             "VESTA_FREQENCY in the environment is not known; did you mean VESTA_FREQUENCY?",
             "VESTA_PID in the environment is not heeded: give --pid on the command line"}));
}

TEST(EnvironmentTest, AllThatAreNotKnownAreOneLineAndNoProblem) {
  Inputs inputs;
  inputs.arguments = {"version"};
  inputs.environment = {{"VESTA_SERVICE_HOST", "10.0.0.1"}, {"VESTA_7171_TCP_PROTO", "tcp"}};
  EXPECT_EQ(EnvironmentWarnings(inputs),
            Lines{"VESTA_SERVICE_HOST, VESTA_7171_TCP_PROTO in the environment: not known; `vesta "
                  "help --markdown` lists the names that are"});
  inputs.arguments = {"record"};
  inputs.is_root = true;
  inputs.environment.emplace_back("VESTA_PORT", "tcp://10.0.0.1:7171");  // near VESTA_SORT
  inputs.read_file = [](const std::string&) -> base::Result<std::string> {
    return base::Error(base::ErrorCode::kNotFound, "none");
  };
  EXPECT_TRUE(std::holds_alternative<Request>(ParseInvocation(inputs)));
}

}  // namespace
}  // namespace vesta::cli
