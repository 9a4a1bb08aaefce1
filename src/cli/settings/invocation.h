// From arguments, environment and config files to one validated request, or to everything that is
// wrong with it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "src/cli/settings/options.h"
#include "src/cli/settings/setting_collector.h"

namespace vesta::cli {

struct HelpRequest {
  std::string command;  // empty = the overview
  bool expert = false;
  bool markdown = false;  // docs/config.md
};
struct VersionRequest {};

using Request = std::variant<RecordOptions, TopOptions, ConvertOptions, DiffOptions, DoctorOptions,
                             UpOptions, AgentOptions, PauseOptions, ResumeOptions, ServerOptions,
                             ImportOptions, ExportOptions, QueryOptions, SeriesOptions,
                             LabelsOptions, HelpRequest, VersionRequest>;

// At least one; each names cause and remedy.
struct Problems {
  std::string command;  // empty = the command itself is wrong
  std::vector<std::string> texts;
};

// Precedence: flag, then environment, then file (the user's over the machine's), then default.
std::variant<Request, Problems> ParseInvocation(const Inputs& inputs);

}  // namespace vesta::cli
