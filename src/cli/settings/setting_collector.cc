#include "src/cli/settings/setting_collector.h"

#include "src/base/ascii.h"
#include "src/base/check.h"
#include "src/cli/settings/nearest_word.h"

namespace vesta::cli {

using base::ErrorCode;

std::optional<std::string> Lookup(const Inputs& inputs, std::string_view name) {
  for (const auto& [key, value] : inputs.environment) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> UsualConfigFiles(const Inputs& inputs) {
  std::vector<std::string> files = {"/etc/vesta.conf"};
  if (const auto xdg = Lookup(inputs, "XDG_CONFIG_HOME"); xdg && !xdg->empty()) {
    files.push_back(*xdg + "/vesta.conf");
  } else if (const auto home = Lookup(inputs, "HOME"); home && !home->empty()) {
    files.push_back(*home + "/.config/vesta.conf");
  }
  return files;
}

void Collector::Set(const OptionSpec& option, std::string_view text, const std::string& origin,
                    const std::string& written) {
  const auto stored = option.store(option, text, settings_);
  if (!stored.ok()) return Problem(written + " " + stored.error().message());
  origins_[std::string(option.flag)] = {std::string(option.flag), std::string(text), origin};
}

void Collector::SetDefaults() {
  for (const OptionSpec& option : AllOptions()) {
    if (option.default_text.empty()) continue;
    // A default that its own row refuses is a mistake in options.def.
    CHECK(option.store(option, option.default_text, settings_).ok());
  }
}

void Collector::ReadFiles(const std::optional<std::string>& chosen) {
  const auto files = chosen ? std::vector<std::string>{*chosen} : UsualConfigFiles(inputs_);
  for (const std::string& path : files) {
    const auto text = inputs_.read_file(path);
    if (text.ok()) {
      ReadFile(path, *text);
    } else if (chosen || text.error().code() != ErrorCode::kNotFound) {
      Problem("the config file cannot be used: " + text.error().message());
    }
  }
}

void Collector::ReadEnvironment() {
  for (const OptionSpec& option : AllOptions()) {
    if (option.scope != OptionScope::kEverywhere) continue;
    const std::string name = EnvironmentName(option);
    const auto value = Lookup(inputs_, name);
    if (value && !value->empty()) Set(option, *value, "environment", name + "=" + *value);
  }
}

std::vector<EffectiveSetting> Collector::Effective() const {
  std::vector<EffectiveSetting> all;
  for (const auto& [flag, setting] : origins_) all.push_back(setting);
  return all;
}

void Collector::ReadFile(const std::string& path, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return Problem("the config file cannot be used: " + path + " is no text");
  }
  size_t line_number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = base::Trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const std::string place = path + ":" + std::to_string(++line_number);
    if (line.empty() || line.front() == '#') continue;
    ReadLine(line, place);
  }
}

void Collector::ReadLine(std::string_view line, const std::string& place) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return Problem(place + ": '" + std::string(line) + "' is no setting: write key = value");
  }
  const std::string key(base::Trim(line.substr(0, equals)));
  const std::string value(base::Trim(line.substr(equals + 1)));
  const OptionSpec* option = FindOption(key);
  if (option == nullptr) {
    std::vector<std::string> known;
    for (const OptionSpec& each : AllOptions()) known.emplace_back(each.flag);
    const std::string near = NearestWord(key, known);
    return Problem(place + ": the key '" + key + "' is not known" +
                   (near.empty() ? "; `vesta help --markdown` lists the keys"
                                 : "; did you mean " + near + "?"));
  }
  if (option->scope != OptionScope::kEverywhere) {
    return Problem(place + ": " + key + " can be given on the command line only");
  }
  Set(*option, value, place, place + ": " + key + " = " + value);
}

}  // namespace vesta::cli
