// Values of settings from all that may say one: flags, environment, config files, defaults.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/cli/settings/option_table.h"
#include "src/cli/settings/options.h"

namespace vesta::cli {

// What the outside says; read once by main(), so that parsing itself is a pure function.
struct Inputs {
  std::vector<std::string> arguments;  // without the program's name
  std::vector<std::pair<std::string, std::string>> environment;
  bool is_root = false;
  // Text of a config file. NotFound is fine for the usual places, not for --config FILE.
  std::function<base::Result<std::string>(const std::string& path)> read_file;
};

// A variable of the environment.
std::optional<std::string> Lookup(const Inputs& inputs, std::string_view name);

// The config files to read, least specific first; ignores VESTA_CONFIG and --config.
std::vector<std::string> UsualConfigFiles(const Inputs& inputs);

// Collects values by source, most general source first, and every problem on the way.
class Collector {
 public:
  explicit Collector(const Inputs& inputs) : inputs_(inputs) {}

  void Problem(std::string text) { problems_.push_back(std::move(text)); }

  // `written` is how the user gave it, for messages: "--frequency 5000".
  void Set(const OptionSpec& option, std::string_view text, const std::string& origin,
           const std::string& written);
  void SetDefaults();
  // `chosen` replaces the usual ones.
  void ReadFiles(const std::optional<std::string>& chosen);
  void ReadEnvironment();

  Settings& settings() { return settings_; }
  std::vector<std::string>& problems() { return problems_; }
  std::vector<EffectiveSetting> Effective() const;

 private:
  void ReadFile(const std::string& path, std::string_view text);
  void ReadLine(std::string_view line, const std::string& place);

  const Inputs& inputs_;
  Settings settings_;
  std::vector<std::string> problems_;
  std::map<std::string, EffectiveSetting, std::less<>> origins_;
};

}  // namespace vesta::cli
