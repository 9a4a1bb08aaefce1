// The arguments behind a command, taken apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cli/settings/commands.h"
#include "src/cli/settings/option_table.h"
#include "src/cli/settings/setting_collector.h"

namespace vesta::cli {

// Values are not looked at yet.
struct Arguments {
  struct Given {
    const OptionSpec* option;
    std::string value;
    std::string written;
  };
  std::vector<Given> given;
  std::vector<std::string> words;  // neither options nor values
  std::vector<std::string> after_dashes;
  bool has_dashes = false;
  std::optional<std::string> config;
  bool help = false;
  bool expert = false;
};

// What is no option of the command is a problem.
Arguments SplitArguments(const CommandSpec& command, const std::vector<std::string>& words,
                         Collector& collector);

}  // namespace vesta::cli
