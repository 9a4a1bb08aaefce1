#include "src/cli/settings/invocation.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

#include "src/cli/settings/arguments.h"
#include "src/cli/settings/commands.h"
#include "src/cli/settings/nearest_word.h"
#include "src/cli/settings/option_table.h"
#include "src/cli/settings/values.h"
#include "src/wire/profile_format.h"

namespace vesta::cli {
namespace {

// Of the word "auto". Not 20 or 100: what runs once in 10 ms would be met always or never.
constexpr uint32_t kRecordingHz = 99;
constexpr uint32_t kAlwaysOnHz = 19;
constexpr uint32_t kRecordingCpuLimit = 10'000;  // 1/1000 %
constexpr uint32_t kAlwaysOnCpuLimit = 1'000;
constexpr uint64_t kAgentBatchNs = 10'000'000'000;
constexpr uint64_t kUpBatchNs = 5'000'000'000;
constexpr const char* kLocalServer = "http://127.0.0.1:7171";

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
  const bool is_always_on = (command.bit & kAlwaysOn) != 0;
  if (settings.frequency_hz == 0) settings.frequency_hz = is_always_on ? kAlwaysOnHz : kRecordingHz;
  if (settings.cpu_limit_milli_percent == 0) {
    settings.cpu_limit_milli_percent = is_always_on ? kAlwaysOnCpuLimit : kRecordingCpuLimit;
  }
  if (settings.batch_interval_ns == 0) {
    settings.batch_interval_ns = command.bit == kUp ? kUpBatchNs : kAgentBatchNs;
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

void CheckLabels(const Settings& settings, Collector& collector) {
  for (const std::string& label : settings.labels) {
    const size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == label.size()) {
      collector.Problem("--label " + label + " is no label: give NAME=VALUE, such as service=shop");
    }
  }
}

void CheckNoWords(const CommandSpec& command, const Arguments& arguments, Collector& collector) {
  if (arguments.words.empty()) return;
  collector.Problem("`vesta " + std::string(command.name) + "` takes no argument: '" +
                    arguments.words[0] + "'");
}

AgentOptions FinishAgent(Collector& collector) {
  AgentOptions options{collector.settings()};
  if (options.server_url == "auto") options.server_url = kLocalServer;
  CheckLabels(options, collector);
  return options;
}

void CheckTls(const Settings& settings, Collector& collector) {
  if (settings.tls_cert.empty() != settings.tls_key.empty()) {
    collector.Problem("--tls-cert and --tls-key go together: give both");
  }
}

UpOptions FinishUp(Collector& collector) {
  UpOptions options{collector.settings()};
  if (options.data.empty()) options.data = options.state_dir + "/store";
  CheckLabels(options, collector);
  CheckTls(options, collector);
  return options;
}

ServerOptions FinishServer(Collector& collector) {
  ServerOptions options{collector.settings()};
  if (options.data.empty()) {
    collector.Problem("where shall the profiles be kept? give a folder: vesta server --data DIR");
  }
  CheckTls(options, collector);
  return options;
}

ImportOptions FinishImport(const Arguments& arguments, Collector& collector) {
  ImportOptions options{collector.settings(), arguments.words};
  if (options.files.empty()) {
    collector.Problem("a file is needed: vesta import FILE... --label service=NAME");
  }
  CheckLabels(options, collector);
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
  if (chosen + int{options.tree} > 1) {
    collector.Problem(
        "--callers, --callees, --lines and --tree exclude each other: give one of them");
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
  LabelsOptions options{collector.settings(), {}, {}};
  const auto& words = arguments.words;
  // No label is called as a selector with braces is.
  const size_t query = words.empty() || words[0].find('{') == std::string::npos ? 1 : 0;
  if (query == 1 && !words.empty()) options.label = words[0];
  if (words.size() > query) options.query = words[query];
  if (words.size() > query + 1) {
    collector.Problem("'" + words[query + 1] +
                      "' is one too many: vesta labels [NAME] [QUERY] (put the query into single "
                      "quotes)");
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
  } else if (command.bit == kUp) {
    CheckNoWords(command, arguments, collector);
    request = FinishUp(collector);
  } else if (command.bit == kAgent) {
    CheckNoWords(command, arguments, collector);
    request = FinishAgent(collector);
  } else if (command.bit == kPause) {
    CheckNoWords(command, arguments, collector);
    request = PauseOptions{collector.settings()};
  } else if (command.bit == kResume) {
    CheckNoWords(command, arguments, collector);
    request = ResumeOptions{collector.settings()};
  } else if (command.bit == kServer) {
    CheckNoWords(command, arguments, collector);
    request = FinishServer(collector);
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
    CheckNoWords(command, arguments, collector);
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
  Arguments arguments = SplitArguments(*command, rest, collector);
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
