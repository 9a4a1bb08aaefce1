// The rows of options.def as data: what the parser, the help and docs/config.md work from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/cli/settings/options.h"

namespace vesta::cli {

// Bits: an option belongs to a set of commands.
enum CommandSet : unsigned {
  kRecord = 1,
  kTop = 2,
  kDoctor = 4,
  kConvert = 8,
  kDiff = 16,
  kServer = 32,
  kImport = 64,
  kExport = 128,
  kQuery = 256,
  kSeries = 512,
  kLabels = 1024,
  kAgent = 2048,
  kUp = 4096,
  kPause = 8192,
  kResume = 16384,
  // what samples for as long as it runs
  kAlwaysOn = kAgent | kUp,
  // what keeps a store
  kKeepers = kServer | kUp,
  // what asks a store
  kClients = kImport | kExport | kQuery | kSeries | kLabels | kDiff,
};

enum class OptionKind : uint8_t {
  kDuration,
  kSize,
  kPercent,
  kCount,
  kFlag,
  kText,
  kPids,
  kPaths,
  kChoice
};
enum class OptionScope : uint8_t { kEverywhere, kCommandLine };
enum class OptionAudience : uint8_t { kUser, kExpert };

struct OptionSpec {
  std::string_view flag;  // without dashes; also the key in the config file
  char short_flag;        // 0 = none
  OptionKind kind;
  std::string_view default_text;
  std::string_view minimum;  // as a user writes it; empty = no bounds
  std::string_view maximum;
  std::string_view value_name;  // of a choice: its words, separated by |
  unsigned commands;            // of CommandSet
  OptionScope scope;
  OptionAudience audience;
  std::string_view doc;
  // Parses text, checks its range and stores it; list options add to what is there.
  // Errors: InvalidInput, with the cause and the remedy, without the name of the option.
  base::Result<void> (*store)(const OptionSpec& spec, std::string_view text, Settings& settings);
};

std::span<const OptionSpec> AllOptions();

// The row of these commands, else the one that may stand in a config file, else any.
// Null when there is none. Underscores count as dashes, so that keys may be written either way.
const OptionSpec* FindOption(std::string_view flag, unsigned commands = 0);
const OptionSpec* FindShortOption(char short_flag, unsigned commands = 0);

// What a user may give: "1 to 1000, or auto", "self or total", "yes or no", "FILE".
std::string PossibleValues(const OptionSpec& option);

// VESTA_RING_SIZE for ring-size.
std::string EnvironmentName(const OptionSpec& option);

}  // namespace vesta::cli
