#include "src/cli/settings/commands.h"

#include <vector>

#include "src/cli/settings/environment.h"

namespace vesta::cli {
namespace {

constexpr size_t kTextColumns = 96;
constexpr size_t kFlagColumns = 24;

constexpr CommandSpec kCommands[] = {
    {"record", kRecord, CommandGroup::kRecording,
     "record where CPU time goes, and print the functions that used most",
     "vesta record [OPTIONS] [-- COMMAND...]\n",
     "vesta record --duration 10s                      the whole machine for ten seconds\n"
     "vesta record --pid 1234 -d 30s -o cpu.pb.gz      one process, also as a pprof file\n"
     "vesta record -o a.html -- make -j8               a command and all that it starts, as a "
     "page\n"
     "vesta record -F 499 -d 5s -n 50                  finer, with a longer table\n",
     "The table is always printed; each -o adds a file. Ctrl-C ends the recording and keeps what\n"
     "was collected. With --duration and COMMAND the recording stops then, and vesta waits for\n"
     "the command.\n"
     "\n"
     "Exit status: that of COMMAND, else 0; 130 after Ctrl-C; 125 for a failure of vesta "
     "itself.\n"},
    {"top", kTop, CommandGroup::kRecording, "print the table of a recorded profile, or a live one",
     "vesta top FILE [OPTIONS]\n"
     "vesta top [OPTIONS]                              live, until Ctrl-C\n",
     "vesta top cpu.pb.gz                              a file of vesta, or of another profiler\n"
     "vesta top cpu.pb.gz --sort total -n 50           by time with callees, a longer table\n"
     "vesta top cpu.pb.gz --json                       for programs\n"
     "vesta top --pid 1234                             one process, live\n",
     "FILE may be pprof, OTLP profiles, folded stacks, speedscope, text of perf script, "
     "perf.data,\n"
     "Java Flight Recorder or a V8 CPU profile, packed by gzip or not; its content tells.\n"
     "\n"
     "Exit status: 0; 130 after Ctrl-C; 125 for a failure of vesta itself.\n"},
    {"convert", kConvert, CommandGroup::kFiles,
     "turn a profile of any format into a page, a picture or another format",
     "vesta convert IN OUT [OPTIONS]\n",
     "vesta convert cpu.pb.gz cpu.html                 a page that opens everywhere, in one file\n"
     "vesta convert rec.jfr rec.pb.gz                  for the tools of pprof\n"
     "perf script | vesta convert - perf.svg           from standard input\n"
     "vesta convert heap.pb.gz - --to folded --type inuse_space\n",
     "IN may be pprof, OTLP profiles, folded stacks, speedscope, text of perf script, perf.data,\n"
     "Java Flight Recorder or a V8 CPU profile, packed by gzip or not; its content tells, --from\n"
     "forces it. OUT tells its format by its name: .html, .svg, .pb.gz (pprof), .otlp, .folded,\n"
     ".speedscope.json or .firefox.json. What that format cannot hold is said on standard error.\n"
     "- is standard input or output.\n"
     "\n"
     "Exit status: 0; 125 for a failure, and then OUT is as it was.\n"},
    {"diff", kDiff, CommandGroup::kFiles,
     "compare two profiles or queries: which functions use more now, and which less",
     "vesta diff BEFORE AFTER [OPTIONS]\n",
     "vesta diff old.pb.gz new.pb.gz                   a table, largest change first\n"
     "vesta diff old.pb.gz new.pb.gz --normalize       shares, when one ran longer\n"
     "vesta diff old.pb.gz new.pb.gz -o change.html    as a page with both sides\n"
     "vesta diff old.pb.gz new.pb.gz --json            for programs\n"
     "vesta diff 'cpu{version=\"1\"}' 'cpu{version=\"2\"}' --from -1d --normalize\n"
     "vesta diff 'cpu{service=\"shop\"}@-2d..-1d' 'cpu{service=\"shop\"}@-1d..now'\n"
     "vesta diff good.pb.gz 'cpu{service=\"shop\"}' --from -10m\n",
     "A side is the file of that name if there is one, of any format that `vesta convert` reads;\n"
     "else it is a query, and may carry its own time behind @. A change that may as well be\n"
     "chance, as the numbers of samples tell, is marked.\n"
     "\n"
     "Exit status: 0, whatever changed; 125 for a failure.\n"},
    {"up", kUp, CommandGroup::kMachine,
     "show where this machine's CPU time goes, live and of weeks: agent, store and page in one",
     "vesta up [OPTIONS]\n",
     "vesta up                                         as root; open http://127.0.0.1:7171\n"
     "vesta up --data /srv/profiles --retention 7d --retention-size 5G\n"
     "vesta query cpu --by service --from -5m          asks it, from another terminal\n",
     "The whole machine is sampled until SIGTERM or Ctrl-C; the next start goes on with the\n"
     "same store. `vesta agent` and `vesta server` are its two parts, for several machines. Each\n"
     "user of this machine may ask and push at 127.0.0.1; --token-file closes it. A process with\n"
     "VESTA_PROFILE=off in its environment is not sampled, and `vesta pause` stops it for all.\n"
     "\n"
     "Exit status: 0 after SIGTERM or Ctrl-C; 125 for a failure.\n"},
    {"agent", kAgent, CommandGroup::kMachine,
     "sample this machine for as long as it runs, and send what it did to a server",
     "vesta agent --server URL [OPTIONS]\n",
     "vesta agent                                      to the server at 127.0.0.1:7171\n"
     "vesta agent --server https://vesta.example:7171 --token-file /etc/vesta/token\n"
     "vesta agent --label deployment.environment=prod --frequency 99\n",
     "What cannot be delivered waits in the state folder (--spool-size, --spool-age) and is sent\n"
     "when the server is back; what is lost is counted, and `vesta doctor` tells it. A process\n"
     "with VESTA_PROFILE=off in its environment is not sampled, nor one that --exclude names.\n"
     "\n"
     "Exit status: 0 after SIGTERM or Ctrl-C; 125 for a failure.\n"},
    {"pause", kPause, CommandGroup::kMachine, "stop the agent of this machine from sampling",
     "vesta pause [--for TIME]\n",
     "vesta pause                                      until `vesta resume`\n"
     "vesta pause --for 1h\n",
     "Makes --pause-file, which every agent looks at ten times a second.\n"
     "\n"
     "Exit status: 0; 125 for a failure.\n"},
    {"resume", kResume, CommandGroup::kMachine, "let the agent of this machine sample again",
     "vesta resume\n", "vesta resume\n",
     "Exit status: 0, also when it was not paused; 125 for a failure.\n"},
    {"server", kServer, CommandGroup::kStore,
     "keep profiles of weeks in a folder and answer questions",
     "vesta server --data DIR [OPTIONS]\n",
     "vesta server --data /var/lib/vesta/store         for this machine, at 127.0.0.1:7171\n"
     "vesta server --data DIR --retention 7d --retention-size 5G\n"
     "vesta server --data DIR --listen 0.0.0.0:7171 --tls-cert F --tls-key F --token-file F\n"
     "curl --data-binary @cpu.pb.gz 'http://127.0.0.1:7171/api/v1/profiles?label.service=shop'\n",
     "Runs until SIGTERM or Ctrl-C, answers what was asked by then, and leaves the folder so that\n"
     "the next start, or a copy of it, has all that was acknowledged. Each user of this machine\n"
     "may ask and push at 127.0.0.1; --token-file closes it. docs/api.md has the HTTP API.\n"
     "\n"
     "Exit status: 0 after SIGTERM or Ctrl-C; 125 for a failure.\n"},
    {"import", kImport, CommandGroup::kStore, "put profiles from files into the store",
     "vesta import FILE... --label NAME=VALUE [OPTIONS]\n",
     "vesta import cpu.pb.gz --label service=shop --label version=1.4\n"
     "vesta import old/*.pb.gz --label service=shop --at -2d\n"
     "vesta import rec.jfr --label service=shop --data DIR\n",
     "FILE may be of any format that `vesta convert` reads, or what `vesta export` wrote. A file\n"
     "that was imported before with the same labels and time is told and counts once, so an\n"
     "import that was interrupted can be run again; so does each row of an export that the store\n"
     "has, whoever brought it. It goes to --server, or into the folder of\n"
     "--data, through its server when that has it open. Most formats have one time for all\n"
     "samples: of pprof it is the end of the recording, so that a series shows one column for\n"
     "each file.\n"
     "\n"
     "Exit status: 0; 125 when a file could not be kept, those before it stay.\n"},
    {"query", kQuery, CommandGroup::kStore, "ask the store where time or memory went, in any range",
     "vesta query QUERY [OPTIONS]\n",
     "vesta query 'cpu{service=\"shop\"}' --from -5m     functions that used most\n"
     "vesta query cpu --by service --from -1d          a line per service\n"
     "vesta query 'cpu{version=~\"1.*\"}' -o cpu.html --from -1d   a page\n"
     "vesta query cpu --from 14:02 --to 14:05          today, UTC\n"
     "vesta query cpu --from 'yesterday 14:02' --to 'yesterday 14:05'   or 2026-11-29T14:02\n"
     "vesta query cpu -o cpu.pb.gz --from -1h          for the tools of pprof\n"
     "vesta query cpu --function parse --callers       who calls it; also --callees, --lines\n"
     "vesta query cpu --tree -n 40                     the tree of calls\n"
     "vesta query cpu --from -7d --explain             what would be read, and how long it takes\n",
     "QUERY is a type and, in braces, labels: = and != compare, =~ and !~ take a pattern for the\n"
     "whole value. `vesta labels` lists what there is. service, version, node, container and the\n"
     "like are short for service.name and so on. What is cut from an answer is named with its\n"
     "sum: --rows cuts the rows of json, too. docs/query.md has more of the language.\n"
     "\n"
     "Exit status: 0; 125 for a failure, also for a file of stacks that would have none.\n"},
    {"series", kSeries, CommandGroup::kStore, "show how much was used over time, by label",
     "vesta series QUERY [OPTIONS]\n",
     "vesta series cpu --by service --from -6h         a line and a small chart per service\n"
     "vesta series 'cpu{service=\"shop\"}' --by version --step 1m --json\n",
     "QUERY is as in `vesta help query`.\n"
     "\n"
     "Exit status: 0; 125 for a failure.\n"},
    {"labels", kLabels, CommandGroup::kStore,
     "list labels of stored profiles, or the values of one",
     "vesta labels [NAME] [QUERY] [OPTIONS]\n",
     "vesta labels\n"
     "vesta labels version --from -7d\n"
     "vesta labels version '{service=\"shop\"}'        of one service\n"
     "vesta labels '{service=\"shop\"}'                the labels that it has\n",
     "QUERY is as in `vesta help query`. (none) stands for series without the label.\n"
     "\n"
     "Exit status: 0; 125 for a failure.\n"},
    {"export", kExport, CommandGroup::kStore, "write stored samples to a file, for another store",
     "vesta export QUERY [OPTIONS]\n",
     "vesta export 'cpu{service=\"shop\"}' --from -1d -o shop.tar\n"
     "vesta export '' --from -30d -o all.tar         everything\n"
     "vesta import shop.tar --data OTHER             brings it back\n",
     "Each sample keeps its own time, labels and stack, so that a store into which it is imported\n"
     "answers the same; what is there already is told and counts once. For one profile for other\n"
     "tools see `vesta query -o cpu.pb.gz`.\n"
     "\n"
     "Exit status: 0; 125 for a failure.\n"},
    {"doctor", kDoctor, CommandGroup::kMachine,
     "say what this machine allows, what is missing and how to mend it", "vesta doctor [OPTIONS]\n",
     "vesta doctor\n"
     "vesta doctor --json\n",
     "Also shows the book of the last recording, and that of this machine's agent: every sample\n"
     "received is kept, excluded for a reason, or dropped for a reason. What became of the "
     "agent's\n"
     "samples beyond this machine it asks --server, and says where the sums differ.\n"
     "\n"
     "Exit status: 0 when recording is possible, 1 when not; 125 for a failure of vesta itself.\n"},
};

// Adds text broken into lines of kTextColumns, the first one starting at `column`.
void AppendWrapped(std::string_view text, size_t column, std::string* out) {
  size_t used = column;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
    if (used > column && used + 1 + word.size() > kTextColumns) {
      *out += "\n" + std::string(column, ' ');
      used = column;
    }
    if (used > column) {
      *out += ' ';
      ++used;
    }
    *out += word;
    used += word.size();
  }
  *out += '\n';
}

void AppendIndented(std::string_view lines, std::string* out) {
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    if (end > 0) *out += "  " + std::string(lines.substr(0, end));
    *out += '\n';
    lines.remove_prefix(end + 1);
  }
}

void AppendFlag(std::string flags, std::string_view doc, std::string* out) {
  *out += flags;
  if (flags.size() >= kFlagColumns) {
    *out += "\n" + std::string(kFlagColumns, ' ');
  } else {
    *out += std::string(kFlagColumns - flags.size(), ' ');
  }
  AppendWrapped(doc, kFlagColumns, out);
}

std::string Bounds(const OptionSpec& option) {
  if (option.kind == OptionKind::kPids || option.minimum.empty()) return "";
  return std::string(option.minimum) + " to " + std::string(option.maximum);
}

std::string DocWithDefault(const OptionSpec& option) {
  std::string doc(option.doc);
  std::string remarks = Bounds(option);
  if (!option.default_text.empty() && option.kind != OptionKind::kFlag) {
    if (!remarks.empty()) remarks += "; ";
    remarks += "default " + std::string(option.default_text);
  }
  if (!remarks.empty()) doc += " [" + remarks + "]";
  return doc;
}

std::string FlagColumn(const OptionSpec& option) {
  std::string column =
      option.short_flag != 0 ? std::string("  -") + option.short_flag + ", " : "      ";
  column += "--" + std::string(option.flag);
  if (option.kind == OptionKind::kChoice) {
    column += " WORD";
  } else if (!option.value_name.empty()) {
    column += " " + std::string(option.value_name);
  }
  return column;
}

std::string ChoiceDoc(const OptionSpec& option) {
  std::string doc = DocWithDefault(option);
  if (option.kind != OptionKind::kChoice) return doc;
  std::string words(option.value_name);
  for (size_t bar = 0; (bar = words.find('|', bar)) != std::string::npos; bar += 2) {
    words.replace(bar, 1, ", ");
  }
  return words + ": " + doc;
}

std::string MarkdownRow(const OptionSpec& option) {
  std::string row = "| `" + std::string(option.flag) + "` | ";
  row += option.scope == OptionScope::kEverywhere ? "`" + EnvironmentName(option) + "`"
                                                  : "command line only";
  std::string values = Bounds(option);
  if (option.kind == OptionKind::kChoice) {
    values = std::string(option.value_name);
    for (size_t bar = 0; (bar = values.find('|', bar)) != std::string::npos; bar += 2) {
      values.replace(bar, 1, ", ");
    }
  } else if (option.kind == OptionKind::kFlag) {
    values = "yes, no";
  } else if (values.empty()) {
    values = std::string(option.value_name);
  }
  row += " | " + values + " | " + std::string(option.default_text) + " | ";
  std::string commands;
  for (const CommandSpec& command : kCommands) {
    if ((option.commands & command.bit) == 0) continue;
    commands += (commands.empty() ? "" : ", ") + std::string(command.name);
  }
  row += commands + " | " + std::string(option.doc);
  if (option.audience == OptionAudience::kExpert) row += " (expert)";
  return row + " |\n";
}

}  // namespace

std::span<const CommandSpec> AllCommands() { return kCommands; }

const CommandSpec* FindCommand(std::string_view name) {
  for (const CommandSpec& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string CommandsOf(const OptionSpec& option) {
  unsigned commands = 0;  // of all meanings of the flag
  for (const OptionSpec& other : AllOptions()) {
    if (other.flag == option.flag) commands |= other.commands;
  }
  std::vector<std::string> names;
  for (const CommandSpec& command : kCommands) {
    if ((commands & command.bit) != 0) names.push_back("`vesta " + std::string(command.name) + "`");
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string OverviewHelp() {
  struct Group {
    CommandGroup group;
    std::string_view title;
  };
  constexpr Group kGroups[] = {{CommandGroup::kRecording, "Record"},
                               {CommandGroup::kFiles, "Files of profiles"},
                               {CommandGroup::kStore, "Keep and ask"},
                               {CommandGroup::kMachine, "This machine"}};
  std::string out =
      "vesta: where a machine spends its CPU time, kernel and user code, with names\n";
  for (const Group& group : kGroups) {
    out += "\n" + std::string(group.title) + "\n";
    for (const CommandSpec& command : kCommands) {
      if (command.group != group.group) continue;
      AppendFlag("  vesta " + std::string(command.name), command.summary, &out);
    }
  }
  AppendFlag("  vesta help COMMAND", "options and examples of a command", &out);
  AppendFlag("  vesta version", "what is installed here", &out);
  out += "\nFirst steps\n";
  AppendIndented(
      "vesta doctor\nvesta record --duration 10s -o cpu.pb.gz\n"
      "vesta up                                         and open http://127.0.0.1:7171\n"
      "vesta query cpu --by service --from -5m          in another terminal\n",
      &out);
  return out;
}

std::string CommandHelp(const CommandSpec& command, bool expert) {
  std::string out =
      "vesta " + std::string(command.name) + ": " + std::string(command.summary) + "\n\n";
  AppendIndented(command.usage, &out);
  out += "\nExamples\n";
  AppendIndented(command.examples, &out);
  out += "\nOptions\n";
  for (const OptionSpec& option : AllOptions()) {
    if ((option.commands & command.bit) == 0) continue;
    if (option.audience == OptionAudience::kExpert && !expert) continue;
    AppendFlag(FlagColumn(option), ChoiceDoc(option), &out);
  }
  AppendFlag("      --config FILE",
             "read settings from FILE instead of /etc/vesta.conf and ~/.config/vesta.conf", &out);
  out += "\n";
  AppendIndented(command.notes, &out);
  out +=
      "\n  Each option may also stand in a config file (frequency = 49) or in the environment\n"
      "  (VESTA_FREQUENCY=49); a flag wins over the environment, which wins over the file.\n";
  return out;
}

std::string ConfigMarkdown() {
  std::string out =
      "# Settings\n"
      "\n"
      "Made by `vesta help --markdown` from `src/cli/settings/options.def`; do not edit.\n"
      "\n"
      "A setting is a flag (`--frequency 49`), an environment variable (`VESTA_FREQUENCY=49`) or "
      "a\n"
      "line in a config file (`frequency = 49`; `#` starts a comment line). A flag wins over the\n"
      "environment, the environment over a file, a file over the default. Files:\n"
      "`/etc/vesta.conf`, then `$XDG_CONFIG_HOME/vesta.conf` (else `~/.config/vesta.conf`), whose\n"
      "lines win over those of the first; `--config FILE` or `VESTA_CONFIG` replaces both.\n"
      "A key or a value that is not right refuses the whole, with every problem listed.\n"
      "\n"
      "Times: `500ms`, `10s`, `5m`, `1h`, `2d`. Sizes: `64k`, `8M`, `1G`, each step 1024.\n"
      "`none` and `auto` may be written where they are the default.\n"
      "\n"
      "| flag and key | environment | values | default | commands | meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const OptionSpec& option : AllOptions()) out += MarkdownRow(option);
  out +=
      "\n"
      "Besides these there are in the environment (an unknown name there, and an empty value, is "
      "left\n"
      "alone and said in one line):\n"
      "\n"
      "| environment | values | meaning |\n"
      "|---|---|---|\n";
  for (const OtherVariable& other : OtherVariables()) {
    if (other.doc.empty()) continue;
    out += "| `" + std::string(other.name) + "` | " + std::string(other.values) + " | " +
           std::string(other.doc) + " |\n";
  }
  return out;
}

}  // namespace vesta::cli
