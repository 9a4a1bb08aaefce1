// From arguments, environment and config files to one validated request, or to everything that is
// wrong with it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/result.h"
#include "src/cli/options.h"

namespace vesta::cli {

// What the outside says; read once by main(), so that parsing itself is a pure function.
struct Inputs {
  std::vector<std::string> arguments;  // without the program's name
  std::vector<std::pair<std::string, std::string>> environment;
  bool is_root = false;
  // Text of a config file. NotFound is fine for the usual places, not for --config FILE.
  std::function<base::Result<std::string>(const std::string& path)> read_file;
};

struct HelpRequest {
  std::string command;  // empty = the overview
  bool expert = false;
  bool markdown = false;  // docs/config.md
};
struct VersionRequest {};

using Request = std::variant<RecordOptions, TopOptions, ConvertOptions, DiffOptions, DoctorOptions,
                             ServerOptions, ImportOptions, ExportOptions, QueryOptions,
                             SeriesOptions, LabelsOptions, HelpRequest, VersionRequest>;

// At least one; each names cause and remedy.
struct Problems {
  std::string command;  // empty = the command itself is wrong
  std::vector<std::string> texts;
};

// Precedence: flag, then environment, then file (the user's over the machine's), then default.
std::variant<Request, Problems> ParseInvocation(const Inputs& inputs);

// The config files to read, least specific first; ignores VESTA_CONFIG and --config.
std::vector<std::string> UsualConfigFiles(const Inputs& inputs);

// The word of `known` that `given` is probably a misspelling of; empty when none is near.
std::string NearestWord(const std::string& given, const std::vector<std::string>& known);

}  // namespace vesta::cli
