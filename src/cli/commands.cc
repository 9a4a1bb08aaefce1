#include "src/cli/commands.h"

#include <vector>

namespace vesta::cli {
namespace {

constexpr size_t kTextColumns = 96;
constexpr size_t kFlagColumns = 24;

constexpr CommandSpec kCommands[] = {
    {"record", kRecord, "record where CPU time goes, and print the functions that used most",
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
    {"top", kTop, "print the table of a recorded profile, or a live one",
     "vesta top FILE [OPTIONS]\n"
     "vesta top [OPTIONS]                              live, until Ctrl-C\n",
     "vesta top cpu.pb.gz                              a file of vesta, or of another profiler\n"
     "vesta top cpu.pb.gz --sort total -n 50           by time with callees, a longer table\n"
     "vesta top cpu.pb.gz --json                       for programs\n"
     "vesta top --pid 1234                             one process, live\n",
     "FILE may be pprof, folded stacks, speedscope, text of perf script, perf.data, Java Flight\n"
     "Recorder or a V8 CPU profile, packed by gzip or not; its content tells.\n"
     "\n"
     "Exit status: 0; 130 after Ctrl-C; 125 for a failure of vesta itself.\n"},
    {"convert", kConvert, "turn a profile of any format into a page, a picture or another format",
     "vesta convert IN OUT [OPTIONS]\n",
     "vesta convert cpu.pb.gz cpu.html                 a page that opens everywhere, in one file\n"
     "vesta convert rec.jfr rec.pb.gz                  for the tools of pprof\n"
     "perf script | vesta convert - perf.svg           from standard input\n"
     "vesta convert heap.pb.gz - --to folded --type inuse_space\n",
     "IN may be pprof, folded stacks, speedscope, text of perf script, perf.data, Java Flight\n"
     "Recorder or a V8 CPU profile, packed by gzip or not; its content tells, --from forces it.\n"
     "OUT tells its format by its name: .html, .svg, .pb.gz (pprof), .folded, .speedscope.json or\n"
     ".firefox.json. What that format cannot hold is said on standard error. - is standard input\n"
     "or output.\n"
     "\n"
     "Exit status: 0; 125 for a failure, and then OUT is as it was.\n"},
    {"diff", kDiff, "compare two profiles: which functions use more now, and which less",
     "vesta diff BEFORE AFTER [OPTIONS]\n",
     "vesta diff old.pb.gz new.pb.gz                   a table, largest change first\n"
     "vesta diff old.pb.gz new.pb.gz --normalize       shares, when one ran longer\n"
     "vesta diff old.pb.gz new.pb.gz -o change.html    as a page with both sides\n"
     "vesta diff old.pb.gz new.pb.gz --json            for programs\n",
     "BEFORE and AFTER may be of any format that `vesta convert` reads, also of two. A change "
     "that\n"
     "may as well be chance, as the numbers of samples tell, is marked.\n"
     "\n"
     "Exit status: 0, whatever changed; 125 for a failure.\n"},
    {"doctor", kDoctor, "say what this machine allows, what is missing and how to mend it",
     "vesta doctor [OPTIONS]\n",
     "vesta doctor\n"
     "vesta doctor --json\n",
     "Also shows the book of the last recording: every sample received is kept, excluded for a\n"
     "reason, or dropped for a reason.\n"
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
  std::vector<std::string> names;
  for (const CommandSpec& command : kCommands) {
    if ((option.commands & command.bit) != 0)
      names.push_back("`vesta " + std::string(command.name) + "`");
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string OverviewHelp() {
  std::string out =
      "vesta: where a machine spends its CPU time, kernel and user code, with names\n\n";
  for (const CommandSpec& command : kCommands) {
    AppendFlag("  vesta " + std::string(command.name), command.summary, &out);
  }
  AppendFlag("  vesta help COMMAND", "options and examples of a command", &out);
  AppendFlag("  vesta version", "what is installed here", &out);
  out += "\nFirst steps\n";
  AppendIndented("vesta doctor\nvesta record --duration 10s\n", &out);
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
      "Made by `vesta help --markdown` from `src/cli/options.def`; do not edit.\n"
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
  return out;
}

}  // namespace vesta::cli
