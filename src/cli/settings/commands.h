// The commands of vesta and the help that is made from them and from options.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/cli/settings/option_table.h"

namespace vesta::cli {

// How the overview puts them together.
enum class CommandGroup : uint8_t { kRecording, kFiles, kStore, kMachine };

struct CommandSpec {
  std::string_view name;
  CommandSet bit;
  CommandGroup group;
  std::string_view summary;   // one line
  std::string_view usage;     // lines
  std::string_view examples;  // lines
  std::string_view notes;     // lines; exit status and what else one must know
};

std::span<const CommandSpec> AllCommands();
const CommandSpec* FindCommand(std::string_view name);

// "`vesta record`, `vesta top` and `vesta diff`"
std::string CommandsOf(const OptionSpec& option);

std::string OverviewHelp();
std::string CommandHelp(const CommandSpec& command, bool expert);
// docs/config.md
std::string ConfigMarkdown();

}  // namespace vesta::cli
