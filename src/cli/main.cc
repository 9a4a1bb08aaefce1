// vesta: reads what the outside says, once, and runs the command that was asked for.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/printable.h"
#include "src/cli/index_image.h"
#include "src/cli/output.h"
#include "src/cli/run.h"
#include "src/cli/settings/commands.h"
#include "src/cli/settings/environment.h"
#include "src/cli/settings/invocation.h"

extern char** environ;

namespace vesta::cli {
namespace {

constexpr size_t kConfigBytesMax = 1u << 20;
constexpr size_t kProblemsShown = 20;

// Takes the places of standard streams that came closed, so that what is opened later does not get
// their numbers and our messages with them. Reading finds the end, writing fails; a command that is
// started has them closed, as we had.
void OccupyStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    if (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return;
  }
}

// Nothing is allocated here.
[[noreturn]] void EndWithoutMemory() {
  constexpr std::string_view kText =
      "vesta: the system gives no more memory (ulimit -v, ulimit -d, or the machine is full)\n";
  static_cast<void>(::write(STDERR_FILENO, kText.data(), kText.size()) > 0);
  ::_exit(kOwnFailure);
}

Inputs ReadInputs(int argc, char** argv) {
  Inputs inputs;
  for (int i = 1; i < argc; ++i) inputs.arguments.emplace_back(argv[i]);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      inputs.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  inputs.is_root = ::geteuid() == 0;
  inputs.read_file = [](const std::string& path) {
    return base::ReadSmallFile(path, kConfigBytesMax);
  };
  return inputs;
}

int ReportProblems(const Problems& problems) {
  const std::string name = problems.command.empty() ? "vesta" : "vesta " + problems.command;
  if (problems.texts.size() == 1) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), base::Printable(problems.texts[0]).c_str());
  } else {
    std::fprintf(stderr, "%s: %zu problems\n", name.c_str(), problems.texts.size());
    const size_t shown = std::min(problems.texts.size(), kProblemsShown);
    for (size_t i = 0; i < shown; ++i) {
      std::fprintf(stderr, "  %s\n", base::Printable(problems.texts[i]).c_str());
    }
    if (shown < problems.texts.size()) {
      std::fprintf(stderr, "  ... and %zu more\n", problems.texts.size() - shown);
    }
  }
  std::fprintf(stderr, "`vesta help%s%s` explains.\n", problems.command.empty() ? "" : " ",
               problems.command.c_str());
  return kOwnFailure;
}

int PrintHelp(const HelpRequest& request) {
  if (request.markdown) return PrintOut(ConfigMarkdown());
  if (request.command.empty()) return PrintOut(OverviewHelp());
  return PrintOut(CommandHelp(*FindCommand(request.command), request.expert));
}

struct Runner {
  int operator()(const RecordOptions& options) const { return RunRecord(options); }
  int operator()(const TopOptions& options) const {
    return options.file.empty() ? RunLiveTop(options) : RunTopFile(options);
  }
  int operator()(const ConvertOptions& options) const { return RunConvert(options); }
  int operator()(const DiffOptions& options) const { return RunDiff(options); }
  int operator()(const DoctorOptions& options) const { return RunDoctor(options); }
  int operator()(const UpOptions& options) const { return RunUp(options); }
  int operator()(const AgentOptions& options) const { return RunAgent(options); }
  int operator()(const PauseOptions& options) const { return RunPause(options); }
  int operator()(const ResumeOptions& options) const { return RunResume(options); }
  int operator()(const ServerOptions& options) const { return RunServer(options); }
  int operator()(const ImportOptions& options) const { return RunImport(options); }
  int operator()(const ExportOptions& options) const { return RunExport(options); }
  int operator()(const QueryOptions& options) const { return RunQuery(options); }
  int operator()(const SeriesOptions& options) const { return RunSeries(options); }
  int operator()(const LabelsOptions& options) const { return RunLabels(options); }
  int operator()(const HelpRequest& request) const { return PrintHelp(request); }
  int operator()(const VersionRequest&) const { return PrintOut("vesta " VESTA_VERSION "\n"); }
};

int Main(int argc, char** argv) {
  OccupyStandardStreams();
  std::set_new_handler(EndWithoutMemory);
  if (argc > 1 && argv[1] == kIndexImageCommand) {
    return RunIndexImage(std::vector<std::string>(argv + 2, argv + argc));
  }
  const Inputs inputs = ReadInputs(argc, argv);
  for (const std::string& warning : EnvironmentWarnings(inputs)) {
    std::fprintf(stderr, "vesta: %s\n", base::Printable(warning).c_str());
  }
  const auto outcome = ParseInvocation(inputs);
  if (const auto* problems = std::get_if<Problems>(&outcome)) return ReportProblems(*problems);
  return std::visit(Runner{}, std::get<Request>(outcome));
}

}  // namespace
}  // namespace vesta::cli

int main(int argc, char** argv) { return vesta::cli::Main(argc, argv); }
