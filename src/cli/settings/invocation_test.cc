#include "src/cli/settings/invocation.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;

// Arguments as one would type them, with an environment and files that a test fills in.
struct Shell {
  std::vector<std::pair<std::string, std::string>> environment = {{"HOME", "/home/ann"}};
  std::map<std::string, std::string> files;
  bool is_root = false;

  std::variant<Request, Problems> Run(const std::string& line) const {
    Inputs inputs;
    std::istringstream words(line);
    for (std::string word; words >> word;) inputs.arguments.push_back(word);
    inputs.environment = environment;
    inputs.is_root = is_root;
    inputs.read_file = [this](const std::string& path) -> base::Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return Error(ErrorCode::kNotFound, "opening " + path);
      return found->second;
    };
    return ParseInvocation(inputs);
  }

  template <typename T>
  T Accept(const std::string& line) const {
    const auto outcome = Run(line);
    if (const auto* problems = std::get_if<Problems>(&outcome)) {
      for (const auto& text : problems->texts) ADD_FAILURE() << line << ": " << text;
      return {};
    }
    const auto* request = std::get_if<T>(&std::get<Request>(outcome));
    if (request == nullptr) {
      ADD_FAILURE() << line << " is another command";
      return {};
    }
    return *request;
  }

  // All problems, one a line.
  std::string Refuse(const std::string& line) const {
    const auto outcome = Run(line);
    const auto* problems = std::get_if<Problems>(&outcome);
    if (problems == nullptr) return "accepted";
    std::string all;
    for (const auto& text : problems->texts) all += text + "\n";
    return all;
  }
};

TEST(InvocationTest, DefaultsComeFromTheTable) {
  const auto record = Shell().Accept<RecordOptions>("record");
  EXPECT_EQ(record.frequency_hz, 99u);
  EXPECT_EQ(record.duration_ns, 0u);
  EXPECT_EQ(record.memory_limit_bytes, 100u << 20);
  EXPECT_EQ(record.event, Event::kAuto);
  EXPECT_EQ(record.ring_bytes, 0u);
  EXPECT_FALSE(record.all);
  EXPECT_TRUE(record.command.empty());
}

TEST(InvocationTest, WhatRunsForEverIsGentlerUnlessAsked) {
  const auto agent = Shell().Accept<AgentOptions>("agent");
  EXPECT_EQ(agent.frequency_hz, 19u);
  EXPECT_EQ(agent.cpu_limit_milli_percent, 1'000u);
  EXPECT_EQ(agent.server_url, "http://127.0.0.1:7171");
  EXPECT_EQ(Shell().Accept<RecordOptions>("record").cpu_limit_milli_percent, 10'000u);
  const auto asked = Shell().Accept<AgentOptions>(
      "agent --server https://s:1 -F 49 --cpu-limit 3 --label a=b --batch-interval 2s");
  EXPECT_EQ(asked.frequency_hz, 49u);
  EXPECT_EQ(asked.cpu_limit_milli_percent, 3'000u);
  EXPECT_EQ(asked.server_url, "https://s:1");
  EXPECT_EQ(asked.batch_interval_ns, 2'000'000'000u);
  EXPECT_NE(Shell().Refuse("agent --label x").find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(Shell().Refuse("agent now").find("takes no argument"), std::string::npos);
}

TEST(InvocationTest, FlagsInAllTheirSpellings) {
  const auto record = Shell().Accept<RecordOptions>(
      "record -F499 --duration=1.5s -p 10 --pid 11 -p10 -o a.pb.gz --output b.folded -q "
      "--ring-size 64k -- sh -c true --pid 5");
  EXPECT_EQ(record.frequency_hz, 499u);
  EXPECT_EQ(record.duration_ns, 1'500'000'000u);
  EXPECT_EQ(record.pids, (std::vector<uint32_t>{10, 11}));
  EXPECT_EQ(record.outputs, (std::vector<std::string>{"a.pb.gz", "b.folded"}));
  EXPECT_TRUE(record.quiet);
  EXPECT_EQ(record.ring_bytes, 65536u);
  EXPECT_EQ(record.command, (std::vector<std::string>{"sh", "-c", "true", "--pid", "5"}));
  EXPECT_TRUE(Shell().Accept<RecordOptions>("record -aqF 9").all);
  EXPECT_FALSE(Shell().Accept<RecordOptions>("record --quiet=no").quiet);
}

TEST(InvocationTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  Shell shell;
  shell.files["/etc/vesta.conf"] = "# house rates\nfrequency = 10\nrows=7\nevent = cpu-clock\n";
  shell.files["/home/ann/.config/vesta.conf"] = "frequency = 20\r\nrows = 8\n";
  EXPECT_EQ(shell.Accept<RecordOptions>("record").frequency_hz, 20u);
  EXPECT_EQ(shell.Accept<RecordOptions>("record").event, Event::kCpuClock);
  shell.environment.emplace_back("VESTA_FREQUENCY", "30");
  EXPECT_EQ(shell.Accept<RecordOptions>("record").frequency_hz, 30u);
  const auto record = shell.Accept<RecordOptions>("record --frequency 40");
  EXPECT_EQ(record.frequency_hz, 40u);
  EXPECT_EQ(record.rows, 8u);
}

TEST(InvocationTest, ChosenConfigFileReplacesTheUsualOnes) {
  Shell shell;
  shell.files["/etc/vesta.conf"] = "rows = 7\n";
  shell.files["mine.conf"] = "frequency = 11\n";
  const auto record = shell.Accept<RecordOptions>("record --config mine.conf");
  EXPECT_EQ(record.frequency_hz, 11u);
  EXPECT_EQ(record.rows, 25u);
  EXPECT_NE(shell.Refuse("record --config gone.conf").find("gone.conf"), std::string::npos);
  shell.environment.emplace_back("VESTA_CONFIG", "mine.conf");
  EXPECT_EQ(shell.Accept<RecordOptions>("record").frequency_hz, 11u);
}

TEST(InvocationTest, EveryProblemIsListedAtOnce) {
  Shell shell;
  shell.files["/etc/vesta.conf"] = "frequncy = 10\nrows\nrows = none\npid = 3\n";
  shell.environment.emplace_back("VESTA_SORT", "down");
  EXPECT_EQ(
      shell.Refuse("record --duraton 10s -F 5000 -o a.txt --ring-size 100k --all -p 1 x"),
      "--duraton is not an option of `vesta record`; did you mean --duration?\n"
      "/etc/vesta.conf:1: the key 'frequncy' is not known; did you mean frequency?\n"
      "/etc/vesta.conf:2: 'rows' is no setting: write key = value\n"
      "/etc/vesta.conf:3: rows = none is no whole number, or too large a one; 1 to 100000\n"
      "/etc/vesta.conf:4: pid can be given on the command line only\n"
      "VESTA_SORT=down is not known: give self or total\n"
      "-F 5000 is out of range: give 1 to 1000, or auto\n"
      "--all and --pid exclude each other: leave one of them away\n"
      "--output: the name a.txt does not tell the format; let it end in .pb.gz .pprof .prof .pb "
      "(pprof), .otlp (OTLP profiles), .folded (folded stacks), .speedscope.json (speedscope), "
      ".firefox.json "
      ".profile.json (Firefox Profiler), .html (HTML) or .svg (SVG)\n"
      "ring-size must be a power of two, such as 64k, 1M or 8M\n"
      "'10s' is no option; a command to record comes after --: vesta record -- 10s\n");
}

TEST(InvocationTest, RefusalsSayTheRemedy) {
  const struct {
    const char* line;
    const char* says;
  } cases[] = {
      {"recrod", "did you mean `vesta record`?"},
      {"zebra", "there is no command 'zebra'\n"},
      {"record --duration 10", "such as 10s or 500ms"},
      {"record --duration", "--duration needs a value"},
      {"record --pid 0", "give 1 to 4194304"},
      {"record --", "no command behind --"},
      {"record -o", "-o needs a value"},
      {"record -o folded", "does not tell the format"},
      {"record -z", "-z is not an option of `vesta record`"},
      {"record --json",
       "--json is an option of `vesta top`, `vesta diff`, `vesta query`, `vesta series`, `vesta "
       "labels` and `vesta doctor`"},
      {"record --ring-size 32M", "ring-size is more than a quarter of memory-limit"},
      {"record --table-budget 200M", "table-budget is larger than memory-limit"},
      {"top -o a.folded",
       "-o is an option of `vesta record`, `vesta diff`, `vesta query` and `vesta export`, not of "
       "`vesta top`"},
      {"top a b", "'b' is one too many"},
      {"top a --frequency 10", "--frequency 10 is for the live table"},
      {"top a --interval 2s", "--interval 2s is for the live table"},
      {"top --type cpu", "--type cpu is for a FILE"},
      {"top --from jfr", "--from jfr is for a FILE"},
      {"top a --from svg", "--from svg is not known: give pprof, otlp, folded, "},
      {"convert", "two of them are needed: vesta convert IN OUT"},
      {"convert a.jfr", "a second one is needed: vesta convert IN OUT"},
      {"convert a b.svg c", "'c' is one too many: vesta convert IN OUT"},
      {"convert a b.json", "the name b.json does not tell the format"},
      {"convert a b --to jfr", "--to jfr is not known: give pprof, otlp, folded, "},
      {"convert a b.svg --from mp3", "--from mp3 is not known: give pprof, otlp, folded, "},
      {"diff a", "a second one is needed: vesta diff BEFORE AFTER"},
      {"diff - -", "standard input can be one side only"},
      {"diff a b -o c.folded", "does not tell how to show a difference; let it end in .html"},
      {"doctor now", "takes no argument"},
      {"server", "give a folder: vesta server --data DIR"},
      {"server --data d x", "takes no argument: 'x'"},
      {"server --data d --tls-cert c", "--tls-cert and --tls-key go together"},
      {"server --data d --retention 10m", "give 1h to 3650d"},
      {"import --label a=b", "a file is needed: vesta import FILE..."},
      {"import f --label a", "--label a is no label: give NAME=VALUE"},
      {"import f --label =b", "--label =b is no label"},
      {"import f --label a=", "--label a= is no label"},
      {"import f --from svg", "--from svg is not known: give pprof, otlp, folded, "},
      {"export", "a query is needed: vesta export "},
      {"query", "a query is needed: vesta query "},
      {"query cpu mem", "'mem' is one too many"},
      {"query cpu --callers", "of which function? give --function NAME"},
      {"query cpu --function f", "--function goes with --callers, --callees or --lines"},
      {"query cpu --function f --callers --lines", "exclude each other: give one of them"},
      {"query cpu --format svg", "give auto, table, json, folded, pprof or html"},
      {"series cpu --format html", "give table or json"},
      {"series", "a query is needed: vesta series "},
      {"labels a b c", "'c' is one too many: vesta labels [NAME] [QUERY]"},
      {"labels {} b", "'b' is one too many: vesta labels [NAME] [QUERY]"},
      {"query cpu --tree --function f --lines", "exclude each other: give one of them"},
      {"help now", "no help on 'now'"},
  };
  for (const auto& c : cases) {
    const std::string all = Shell().Refuse(c.line);
    EXPECT_NE(all.find(c.says), std::string::npos) << c.line << ": " << all;
  }
}

TEST(InvocationTest, AFlagMeansWhatItsCommandMakesOfIt) {
  const auto query = Shell().Accept<QueryOptions>("query cpu --from -5m --by version --json -o x");
  EXPECT_EQ(query.query, "cpu");
  EXPECT_EQ(query.time_from, "-5m");
  EXPECT_EQ(query.from, "auto");
  EXPECT_EQ(query.group_by, "version");
  EXPECT_EQ(query.by, "process");
  EXPECT_EQ(query.answer_format, AnswerFormat::kJson);
  EXPECT_EQ(query.answer_file, "x");
  EXPECT_TRUE(query.outputs.empty());
  EXPECT_EQ(Shell().Accept<TopOptions>("top f --from jfr").from, "jfr");
  const auto files = Shell().Accept<DiffOptions>("diff a b --from pprof -o x.svg");
  EXPECT_EQ(files.from, "pprof");
  EXPECT_EQ(files.time_from, "auto");
  EXPECT_EQ(files.outputs, (std::vector<std::string>{"x.svg"}));
  const auto queries = Shell().Accept<DiffOptions>("diff a b --from -2h --to -1h");
  EXPECT_EQ(queries.from, "auto");
  EXPECT_EQ(queries.time_from, "-2h");
  EXPECT_EQ(queries.time_to, "-1h");
}

TEST(InvocationTest, WhereTheStoreIsComesFromTheEnvironmentToo) {
  Shell shell;
  shell.environment.emplace_back("VESTA_SERVER", "http://10.0.0.1:7171");
  shell.environment.emplace_back("VESTA_TOKEN_FILE", "/t");
  const auto labels = shell.Accept<LabelsOptions>("labels version");
  EXPECT_EQ(labels.label, "version");
  EXPECT_EQ(labels.query, "");
  const auto of_one = shell.Accept<LabelsOptions>("labels version cpu{service=\"a\"}");
  EXPECT_EQ(of_one.label, "version");
  EXPECT_EQ(of_one.query, "cpu{service=\"a\"}");
  const auto names = shell.Accept<LabelsOptions>("labels {service=\"a\"}");
  EXPECT_EQ(names.label, "");
  EXPECT_EQ(names.query, "{service=\"a\"}");
  EXPECT_EQ(labels.server_url, "http://10.0.0.1:7171");
  EXPECT_EQ(labels.token_file, "/t");
  EXPECT_EQ(labels.data, "");
  EXPECT_FALSE(labels.data_first);
  EXPECT_TRUE(shell.Accept<LabelsOptions>("labels --data d").data_first);
  EXPECT_FALSE(shell.Accept<LabelsOptions>("labels --data d --server http://x:1").data_first);
  EXPECT_EQ(Shell().Accept<LabelsOptions>("labels").server_url, "auto");
  const auto server = Shell().Accept<ServerOptions>("server --data d");
  EXPECT_EQ(server.retention_ns, uint64_t{30} * 86'400 * 1'000'000'000);
  EXPECT_EQ(server.retention_bytes, uint64_t{20} << 30);
  EXPECT_EQ(server.listen, "127.0.0.1:7171");
  EXPECT_EQ(server.tls_cert, "");
}

TEST(InvocationTest, UpKeepsItsStoreWithItsState) {
  const auto up = Shell().Accept<UpOptions>("up --state-dir s");
  EXPECT_EQ(up.data, "s/store");
  EXPECT_EQ(up.listen, "127.0.0.1:7171");
  EXPECT_EQ(up.frequency_hz, 19u);
  EXPECT_EQ(up.cpu_limit_milli_percent, 1'000u);
  EXPECT_EQ(up.batch_interval_ns, 5'000'000'000u);
  EXPECT_EQ(Shell().Accept<UpOptions>("up --data d --batch-interval 1s").data, "d");
  EXPECT_EQ(Shell().Accept<AgentOptions>("agent").batch_interval_ns, 10'000'000'000u);
  EXPECT_NE(Shell().Refuse("up --tls-cert c").find("--tls-key"), std::string::npos);
  EXPECT_NE(Shell().Refuse("up --label x").find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(Shell().Refuse("up now").find("takes no argument"), std::string::npos);
}

TEST(InvocationTest, ConfigFileThatIsNoTextIsOneProblem) {
  Shell shell;
  shell.files["/etc/vesta.conf"] = std::string("\x7f\x45LF\0\n=\n=\n", 10);
  EXPECT_EQ(shell.Refuse("record"), "the config file cannot be used: /etc/vesta.conf is no text\n");
}

TEST(InvocationTest, TopReadsAFileOrIsLive) {
  EXPECT_EQ(Shell().Accept<TopOptions>("top a.pb.gz --rows 3 --json").file, "a.pb.gz");
  EXPECT_EQ(Shell().Accept<TopOptions>("top -- -odd-name").file, "-odd-name");
  EXPECT_EQ(Shell().Accept<TopOptions>("top -i 2s").interval_ns, 2'000'000'000u);
}

TEST(InvocationTest, ConvertAndDiffTakeTwoFiles) {
  const auto convert = Shell().Accept<ConvertOptions>("convert --type cpu - a.svg --by thread");
  EXPECT_EQ(convert.in, "-");
  EXPECT_EQ(convert.out, "a.svg");
  EXPECT_EQ(convert.type, "cpu");
  EXPECT_EQ(convert.by, "thread");
  EXPECT_EQ(Shell().Accept<ConvertOptions>("convert a - --to folded").to, "folded");
  EXPECT_EQ(Shell().Accept<ConvertOptions>("convert -- -a b.html").in, "-a");
  const auto diff = Shell().Accept<DiffOptions>("diff a b -o x.html -o y.json --normalize --json");
  EXPECT_EQ(diff.before, "a");
  EXPECT_EQ(diff.after, "b");
  EXPECT_TRUE(diff.normalize);
  EXPECT_EQ(diff.outputs, (std::vector<std::string>{"x.html", "y.json"}));
  EXPECT_EQ(diff.format, Format::kJson);
}

TEST(InvocationTest, StateIsKeptWhereTheUserMayWrite) {
  Shell shell;
  EXPECT_EQ(shell.Accept<DoctorOptions>("doctor").state_dir, "/home/ann/.local/state/vesta");
  shell.environment.emplace_back("XDG_STATE_HOME", "/s");
  EXPECT_EQ(shell.Accept<DoctorOptions>("doctor").state_dir, "/s/vesta");
  shell.is_root = true;
  EXPECT_EQ(shell.Accept<DoctorOptions>("doctor").state_dir, "/var/lib/vesta");
  EXPECT_EQ(shell.Accept<DoctorOptions>("doctor --state-dir /t").state_dir, "/t");
}

TEST(InvocationTest, DoctorKnowsWhereSettingsComeFrom) {
  Shell shell;
  shell.files["/etc/vesta.conf"] = "\nfrequency = 10\n";
  const auto doctor = shell.Accept<DoctorOptions>("doctor --json");
  EXPECT_EQ(doctor.format, Format::kJson);
  ASSERT_EQ(doctor.effective.size(), 2u);
  EXPECT_EQ(doctor.effective[1].name, "frequency");
  EXPECT_EQ(doctor.effective[1].text, "10");
  EXPECT_EQ(doctor.effective[1].origin, "/etc/vesta.conf:2");
}

TEST(InvocationTest, HelpWinsOverProblems) {
  EXPECT_EQ(Shell().Accept<HelpRequest>("record --nonsense --help").command, "record");
  EXPECT_EQ(Shell().Accept<HelpRequest>("help top").command, "top");
  EXPECT_TRUE(Shell().Accept<HelpRequest>("top -h --expert").expert);
  EXPECT_TRUE(Shell().Accept<HelpRequest>("").command.empty());
  Shell().Accept<VersionRequest>("--version");
}

}  // namespace
}  // namespace vesta::cli
