#include "src/cli/invocation.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "src/cli/commands.h"
#include "src/cli/option_table.h"
#include "src/cli/values.h"
#include "src/wire/profile_format.h"

namespace vesta::cli {
namespace {

using base::ErrorCode;

constexpr std::string_view kJsonAlias = "json";  // --json is short for --format json

std::optional<std::string> Lookup(const Inputs& inputs, std::string_view name) {
  for (const auto& [key, value] : inputs.environment) {
    if (key == name) return value;
  }
  return std::nullopt;
}

// Number of insertions, deletions, replacements and swaps of neighbours between two words.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> previous(b.size() + 1);
  std::vector<size_t> current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before = previous;
    previous = current;
  }
  return previous[b.size()];
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Collects values by source, most general source first, and every problem on the way.
class Collector {
 public:
  explicit Collector(const Inputs& inputs) : inputs_(inputs) {}

  void Problem(std::string text) { problems_.push_back(std::move(text)); }

  // `written` is how the user gave it, for messages: "--frequency 5000".
  void Set(const OptionSpec& option, std::string_view text, const std::string& origin,
           const std::string& written) {
    const auto stored = option.store(option, text, settings_);
    if (!stored.ok()) return Problem(written + " " + stored.error().message());
    origins_[std::string(option.flag)] = {std::string(option.flag), std::string(text), origin};
  }

  void SetDefaults() {
    for (const OptionSpec& option : AllOptions()) {
      if (option.default_text.empty()) continue;
      // A default that its own row refuses is a mistake in options.def.
      CHECK(option.store(option, option.default_text, settings_).ok());
    }
  }

  void ReadFiles(const std::optional<std::string>& chosen) {
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

  void ReadEnvironment() {
    constexpr std::string_view kPrefix = "VESTA_";
    std::vector<std::string> known = {"CONFIG"};  // without the prefix
    for (const OptionSpec& option : AllOptions()) {
      if (option.scope != OptionScope::kEverywhere) continue;
      const std::string name = EnvironmentName(option);
      known.push_back(name.substr(kPrefix.size()));
      const auto value = Lookup(inputs_, name);
      if (value && !value->empty()) Set(option, *value, "environment", name + "=" + *value);
    }
    // Other programs may use the prefix, so only what looks misspelt is refused.
    for (const auto& [name, value] : inputs_.environment) {
      if (name.rfind(kPrefix, 0) != 0) continue;
      const std::string rest = name.substr(kPrefix.size());
      if (std::find(known.begin(), known.end(), rest) != known.end()) continue;
      const std::string near = NearestWord(rest, known);
      if (near.empty()) continue;
      Problem(name + " in the environment is not known; did you mean VESTA_" + near + "?");
    }
  }

  Settings& settings() { return settings_; }
  std::vector<std::string>& problems() { return problems_; }
  std::vector<EffectiveSetting> Effective() const {
    std::vector<EffectiveSetting> all;
    for (const auto& [flag, setting] : origins_) all.push_back(setting);
    return all;
  }

 private:
  void ReadFile(const std::string& path, std::string_view text) {
    if (text.find('\0') != std::string_view::npos) {
      return Problem("the config file cannot be used: " + path + " is no text");
    }
    size_t line_number = 0;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const std::string_view line = Trim(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      const std::string place = path + ":" + std::to_string(++line_number);
      if (line.empty() || line.front() == '#') continue;
      ReadLine(line, place);
    }
  }

  void ReadLine(std::string_view line, const std::string& place) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return Problem(place + ": '" + std::string(line) + "' is no setting: write key = value");
    }
    const std::string key(Trim(line.substr(0, equals)));
    const std::string value(Trim(line.substr(equals + 1)));
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

  const Inputs& inputs_;
  Settings settings_;
  std::vector<std::string> problems_;
  std::map<std::string, EffectiveSetting, std::less<>> origins_;
};

// The arguments behind the command, taken apart; values are not looked at yet.
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

class Splitter {
 public:
  Splitter(const CommandSpec& command, Collector& collector)
      : command_(command), collector_(collector) {}

  Arguments Split(const std::vector<std::string>& words) {
    for (next_ = 0; next_ < words.size();) {
      const std::string word = words[next_++];
      if (word == "--") {
        result_.has_dashes = true;
        result_.after_dashes.assign(words.begin() + static_cast<ptrdiff_t>(next_), words.end());
        break;
      }
      if (word.rfind("--", 0) == 0) {
        Long(word.substr(2), words);
      } else if (word.size() > 1 && word.front() == '-') {
        Short(word.substr(1), words);
      } else {
        result_.words.push_back(word);
      }
    }
    return std::move(result_);
  }

 private:
  // The value of an option: behind "=", else the next word. Empty when there is none: reported.
  std::optional<std::string> Value(const std::string& written,
                                   const std::optional<std::string>& own,
                                   const std::vector<std::string>& words) {
    if (own) return own;
    if (next_ < words.size() && words[next_] != "--") return words[next_++];
    collector_.Problem(written + " needs a value: " + written + " VALUE");
    return std::nullopt;
  }

  void Long(const std::string& word, const std::vector<std::string>& words) {
    const size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::optional<std::string> own;
    if (equals != std::string::npos) own = word.substr(equals + 1);
    if (name == "help") {
      result_.help = true;
    } else if (name == "expert") {
      result_.expert = true;
    } else if (name == "config") {
      result_.config = Value("--config", own, words);
    } else if (name == kJsonAlias && !own) {
      const OptionSpec* format = FindOption("format", command_.bit);
      if (Belongs(*format, "--json")) result_.given.push_back({format, "json", "--json"});
    } else if (const OptionSpec* option = FindOption(name, command_.bit); option != nullptr) {
      Take(*option, "--" + name, own, words);
    } else {
      Unknown(name);
    }
  }

  // -F 99, -F99, -aq
  void Short(const std::string& letters, const std::vector<std::string>& words) {
    for (size_t i = 0; i < letters.size(); ++i) {
      const std::string written = std::string("-") + letters[i];
      if (letters[i] == 'h') {
        result_.help = true;
        continue;
      }
      const OptionSpec* option = FindShortOption(letters[i], command_.bit);
      if (option == nullptr) {
        return collector_.Problem(written + " is not an option of `vesta " +
                                  std::string(command_.name) + "`");
      }
      const bool last = i + 1 == letters.size();
      if (option->kind != OptionKind::kFlag && !last) {
        return Take(*option, written, letters.substr(i + 1), words);
      }
      Take(*option, written, std::nullopt, words);
    }
  }

  void Take(const OptionSpec& option, const std::string& written,
            const std::optional<std::string>& own, const std::vector<std::string>& words) {
    std::optional<std::string> value = own;
    if (option.kind == OptionKind::kFlag) {
      value = own.value_or("yes");
    } else if (!own) {
      value = Value(written, own, words);
    }
    if (!value || !Belongs(option, written)) return;
    const bool bare = option.kind == OptionKind::kFlag && !own;
    result_.given.push_back({&option, *value, bare ? written : written + " " + *value});
  }

  bool Belongs(const OptionSpec& option, const std::string& written) {
    if ((option.commands & command_.bit) != 0) return true;
    collector_.Problem(written + " is an option of " + CommandsOf(option) + ", not of `vesta " +
                       std::string(command_.name) + "`");
    return false;
  }

  void Unknown(const std::string& name) {
    std::vector<std::string> known = {"help", "config"};
    for (const OptionSpec& option : AllOptions()) {
      if ((option.commands & command_.bit) != 0) known.emplace_back(option.flag);
    }
    const std::string near = NearestWord(name, known);
    collector_.Problem("--" + name + " is not an option of `vesta " + std::string(command_.name) +
                       "`" + (near.empty() ? "" : "; did you mean --" + near + "?"));
  }

  const CommandSpec& command_;
  Collector& collector_;
  Arguments result_;
  size_t next_ = 0;
};

void ResolveFolders(const CommandSpec& command, const Inputs& inputs, Collector& collector) {
  Settings& settings = collector.settings();
  if (settings.state_dir == "auto") {
    if (inputs.is_root) {
      settings.state_dir = "/var/lib/vesta";
    } else if (const auto xdg = Lookup(inputs, "XDG_STATE_HOME"); xdg && !xdg->empty()) {
      settings.state_dir = *xdg + "/vesta";
    } else if (const auto home = Lookup(inputs, "HOME"); home && !home->empty()) {
      settings.state_dir = *home + "/.local/state/vesta";
    } else {
      collector.Problem("there is no HOME to keep the state of `vesta " +
                        std::string(command.name) + "` in: give --state-dir DIR");
    }
  }
  if (settings.symbol_cache == "auto") settings.symbol_cache = settings.state_dir + "/symbols";
  if (settings.symbol_cache == "off") settings.symbol_cache.clear();
  for (std::string* text :
       {&settings.debuginfod, &settings.data, &settings.token_file, &settings.ca_file,
        &settings.tls_cert, &settings.tls_key, &settings.function}) {
    if (*text == "none") text->clear();
  }
}

// What --from of a difference means follows from its value: a format, else a time.
void SplitDiffFrom(Settings& settings) {
  if (settings.diff_from == "auto") return;
  if (wire::ReadableFormatOfWord(settings.diff_from).ok()) {
    settings.from = settings.diff_from;
  } else {
    settings.time_from = settings.diff_from;
  }
}

void CheckSettings(const CommandSpec& command, const Inputs& inputs, Collector& collector) {
  Settings& settings = collector.settings();
  if (settings.all && !settings.pids.empty()) {
    collector.Problem("--all and --pid exclude each other: leave one of them away");
  }
  for (const std::string& output : settings.outputs) {
    if (command.bit == kDiff) {
      const auto format = ParseDiffFormat(output);
      if (!format.ok()) collector.Problem("--output: " + format.error().message());
    } else if (const auto format = wire::FormatOfName(output); !format.ok()) {
      collector.Problem("--output: " + format.error().message());
    }
  }
  if (settings.from != "auto") {
    const auto format = wire::ReadableFormatOfWord(settings.from);
    if (!format.ok()) collector.Problem("--from " + settings.from + " " + format.error().message());
  }
  if (settings.to != "auto") {
    const auto format = wire::WritableFormatOfWord(settings.to);
    if (!format.ok()) collector.Problem("--to " + settings.to + " " + format.error().message());
  }
  if ((settings.ring_bytes & (settings.ring_bytes - 1)) != 0) {
    collector.Problem("ring-size must be a power of two, such as 64k, 1M or 8M");
  }
  if (settings.ring_bytes > settings.memory_limit_bytes / 4) {
    collector.Problem(
        "ring-size is more than a quarter of memory-limit (a ring is mapped twice): lower the one "
        "or raise the other");
  }
  if (settings.table_budget_bytes > settings.memory_limit_bytes) {
    collector.Problem("table-budget is larger than memory-limit: lower the one or raise the other");
  }
  SplitDiffFrom(settings);
  ResolveFolders(command, inputs, collector);
}

// Options of the live table mean nothing for a file, and the other way round.
void CheckTop(const Arguments& arguments, const TopOptions& options, Collector& collector) {
  constexpr std::string_view kOfFile[] = {"type", "from"};
  constexpr std::string_view kOfBoth[] = {"rows", "sort", "format", "state-dir"};
  const auto is_in = [](auto& flags, std::string_view flag) {
    return std::find(std::begin(flags), std::end(flags), flag) != std::end(flags);
  };
  for (const auto& given : arguments.given) {
    if (is_in(kOfBoth, given.option->flag)) continue;
    if (is_in(kOfFile, given.option->flag)) {
      if (options.file.empty()) {
        collector.Problem(given.written + " is for a FILE: vesta top FILE " + given.written);
      }
    } else if (!options.file.empty()) {
      collector.Problem(given.written + " is for the live table: " + options.file +
                        " is recorded already");
    }
  }
}

// Exactly two words; `usage` is said when there are fewer or more.
std::pair<std::string, std::string> TwoWords(const Arguments& arguments, const std::string& usage,
                                             Collector& collector) {
  const auto& words = arguments.words;
  if (words.size() > 2) collector.Problem("'" + words[2] + "' is one too many: " + usage);
  if (words.size() < 2) {
    collector.Problem((words.empty() ? "two of them are needed: " : "a second one is needed: ") +
                      usage);
    return {};
  }
  for (size_t i = 0; i < 2; ++i) {
    if (words[i].empty()) collector.Problem("one of them is empty: " + usage);
  }
  return {words[0], words[1]};
}

ConvertOptions FinishConvert(const Arguments& arguments, Collector& collector) {
  ConvertOptions options{collector.settings(), {}, {}};
  std::tie(options.in, options.out) = TwoWords(arguments, "vesta convert IN OUT", collector);
  if (options.to == "auto" && !options.out.empty()) {
    const auto format = wire::FormatOfName(options.out);
    if (!format.ok()) collector.Problem(format.error().message() + "; or give --to FORMAT");
  }
  return options;
}

DiffOptions FinishDiff(const Arguments& arguments, Collector& collector) {
  DiffOptions options{collector.settings(), {}, {}};
  std::tie(options.before, options.after) =
      TwoWords(arguments, "vesta diff BEFORE AFTER", collector);
  if (options.before == "-" && options.after == "-")
    collector.Problem("standard input can be one side only: give a file for the other");
  return options;
}

ServerOptions FinishServer(const Arguments& arguments, Collector& collector) {
  ServerOptions options{collector.settings()};
  if (!arguments.words.empty()) {
    collector.Problem("`vesta server` takes no argument: '" + arguments.words[0] + "'");
  }
  if (options.data.empty()) {
    collector.Problem("where shall the profiles be kept? give a folder: vesta server --data DIR");
  }
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    collector.Problem("--tls-cert and --tls-key go together: give both");
  }
  return options;
}

ImportOptions FinishImport(const Arguments& arguments, Collector& collector) {
  ImportOptions options{collector.settings(), arguments.words};
  if (options.files.empty()) {
    collector.Problem("a file is needed: vesta import FILE... --label service=NAME");
  }
  for (const std::string& label : options.labels) {
    const size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == label.size()) {
      collector.Problem("--label " + label + " is no label: give NAME=VALUE, such as service=shop");
    }
  }
  return options;
}

// The one word of a command that asks a store. `example` is said when it is missing.
std::string OneQuery(const Arguments& arguments, const std::string& example, Collector& collector) {
  if (arguments.words.empty()) {
    collector.Problem("a query is needed: " + example);
    return {};
  }
  if (arguments.words.size() > 1) {
    collector.Problem("'" + arguments.words[1] + "' is one too many: " + example +
                      " (put the query into single quotes)");
  }
  return arguments.words[0];
}

QueryOptions FinishQuery(const Arguments& arguments, Collector& collector) {
  QueryOptions options{
      collector.settings(),
      OneQuery(arguments, "vesta query 'cpu{service=\"shop\"}' --from -5m", collector)};
  const int chosen = int{options.callers} + int{options.callees} + int{options.lines};
  if (chosen > 1) {
    collector.Problem("--callers, --callees and --lines exclude each other: give one of them");
  }
  if (chosen == 0 && !options.function.empty()) {
    collector.Problem("--function goes with --callers, --callees or --lines: give one of them");
  }
  if (chosen > 0 && options.function.empty()) {
    collector.Problem("of which function? give --function NAME");
  }
  return options;
}

LabelsOptions FinishLabels(const Arguments& arguments, Collector& collector) {
  LabelsOptions options{collector.settings(), {}};
  if (!arguments.words.empty()) options.label = arguments.words[0];
  if (arguments.words.size() > 1) {
    collector.Problem("`vesta labels` takes one NAME; '" + arguments.words[1] +
                      "' is one too many");
  }
  return options;
}

std::variant<Request, Problems> Finish(const CommandSpec& command, Arguments&& arguments,
                                       Collector& collector) {
  Request request;
  if (command.bit != kRecord) {
    arguments.words.insert(arguments.words.end(), arguments.after_dashes.begin(),
                           arguments.after_dashes.end());
  }
  if (command.bit == kRecord) {
    RecordOptions options{collector.settings(), arguments.after_dashes};
    if (arguments.has_dashes && options.command.empty()) {
      collector.Problem("there is no command behind --");
    }
    if (!arguments.words.empty()) {
      collector.Problem("'" + arguments.words[0] +
                        "' is no option; a command to record comes after --: " +
                        "vesta record -- " + arguments.words[0]);
    }
    request = std::move(options);
  } else if (command.bit == kTop) {
    TopOptions options{collector.settings(), {}};
    if (!arguments.words.empty()) options.file = arguments.words[0];
    if (arguments.words.size() > 1) {
      collector.Problem("`vesta top` reads one FILE; '" + arguments.words[1] + "' is one too many");
    }
    CheckTop(arguments, options, collector);
    request = std::move(options);
  } else if (command.bit == kConvert) {
    request = FinishConvert(arguments, collector);
  } else if (command.bit == kDiff) {
    request = FinishDiff(arguments, collector);
  } else if (command.bit == kServer) {
    request = FinishServer(arguments, collector);
  } else if (command.bit == kImport) {
    request = FinishImport(arguments, collector);
  } else if (command.bit == kExport) {
    const std::string example = "vesta export 'cpu{service=\"shop\"}' --from -1d -o FILE";
    request = ExportOptions{collector.settings(), OneQuery(arguments, example, collector)};
  } else if (command.bit == kQuery) {
    request = FinishQuery(arguments, collector);
  } else if (command.bit == kSeries) {
    const std::string example = "vesta series cpu --by service --from -1h";
    request = SeriesOptions{collector.settings(), OneQuery(arguments, example, collector)};
  } else if (command.bit == kLabels) {
    request = FinishLabels(arguments, collector);
  } else {
    DoctorOptions options{collector.settings(), collector.Effective()};
    if (!arguments.words.empty()) {
      collector.Problem("`vesta doctor` takes no argument: '" + arguments.words[0] + "'");
    }
    request = std::move(options);
  }
  if (!collector.problems().empty()) {
    return Problems{std::string(command.name), std::move(collector.problems())};
  }
  return request;
}

std::variant<Request, Problems> ParseHelp(const std::vector<std::string>& words) {
  HelpRequest request;
  Problems problems;
  for (const std::string& word : words) {
    if (word == "--markdown") {
      request.markdown = true;
    } else if (word == "--expert") {
      request.expert = true;
    } else if (FindCommand(word) != nullptr) {
      request.command = word;
    } else {
      problems.texts.push_back("there is no help on '" + word +
                               "'; `vesta help` lists the commands");
    }
  }
  if (!problems.texts.empty()) return problems;
  return Request(request);
}

}  // namespace

std::string NearestWord(const std::string& given, const std::vector<std::string>& known) {
  std::string nearest;
  size_t best = std::min<size_t>(3, 1 + given.size() / 5) + 1;
  for (const std::string& word : known) {
    const size_t distance = EditDistance(given, word);
    if (distance < best && distance < word.size()) {
      best = distance;
      nearest = word;
    }
  }
  return nearest;
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

std::variant<Request, Problems> ParseInvocation(const Inputs& inputs) {
  if (inputs.arguments.empty()) return Request(HelpRequest{});
  const std::string& name = inputs.arguments[0];
  const std::vector<std::string> rest(inputs.arguments.begin() + 1, inputs.arguments.end());
  if (name == "help" || name == "--help" || name == "-h") return ParseHelp(rest);
  if (name == "version" || name == "--version" || name == "-V") return Request(VersionRequest{});
  const CommandSpec* command = FindCommand(name);
  if (command == nullptr) {
    std::vector<std::string> known = {"help", "version"};
    for (const CommandSpec& each : AllCommands()) known.emplace_back(each.name);
    const std::string near = NearestWord(name, known);
    return Problems{"",
                    {"there is no command '" + name + "'" +
                     (near.empty() ? "" : "; did you mean `vesta " + near + "`?")}};
  }
  Collector collector(inputs);
  Arguments arguments = Splitter(*command, collector).Split(rest);
  if (arguments.help) return Request(HelpRequest{name, arguments.expert, false});
  if (arguments.expert) collector.Problem("--expert goes with --help");
  collector.SetDefaults();
  auto config = arguments.config;
  if (!config) {
    config = Lookup(inputs, "VESTA_CONFIG");
    if (config && config->empty()) config.reset();
  }
  collector.ReadFiles(config);
  collector.ReadEnvironment();
  for (const auto& given : arguments.given) {
    collector.Set(*given.option, given.value, "command line", given.written);
  }
  const auto is_typed = [&arguments](std::string_view flag) {
    return std::ranges::any_of(arguments.given,
                               [&](const auto& given) { return given.option->flag == flag; });
  };
  collector.settings().data_first = is_typed("data") && !is_typed("server");
  CheckSettings(*command, inputs, collector);
  return Finish(*command, std::move(arguments), collector);
}

}  // namespace vesta::cli
