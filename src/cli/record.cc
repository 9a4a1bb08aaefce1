// `vesta record`: samples for a while, then prints the table and writes the files.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "src/base/printable.h"
#include "src/cli/always_on/agent_session.h"
#include "src/cli/always_on/cpu_limit.h"
#include "src/cli/output.h"
#include "src/cli/profile_output.h"
#include "src/cli/progress.h"
#include "src/cli/recorded_command.h"
#include "src/cli/run.h"
#include "src/cli/top_view.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

constexpr int kInterrupted = 130;
constexpr uint64_t kPollNs = 100'000'000;
constexpr uint64_t kNsPerMs = 1'000'000;

class Recording {
 public:
  explicit Recording(const RecordOptions& options) : options_(options), progress_(options.quiet) {}

  base::Result<int> Run() {
    RETURN_IF_ERROR(CheckChoice(options_.pids, !options_.command.empty() && !options_.all));
    for (const std::string& path : options_.outputs) {
      ASSIGN_OR_RETURN(const wire::OutputFormat format, wire::FormatOfName(path));
      RETURN_IF_ERROR(CheckOutput(path, format));
    }
    RETURN_IF_ERROR(Start());
    while (!IsOver()) {
      agent_->Poll(TimeLeftNs());
      SayLimitChange();
      const auto& book = agent_->aggregator().book();
      progress_.Show(NowMonoNs() - started_mono_ns_, options_.duration_ns, book.kept,
                     book.received - book.kept);
    }
    agent_->Stop();
    duration_ns_ = NowMonoNs() - started_mono_ns_;
    WaitForNames();
    progress_.Say("naming functions");
    int status = Report();
    if (command_ && !command_->Poll()) {
      progress_.Say("waiting for the command to end");
      command_->Wait();
    }
    progress_.Clear();
    if (status != 0) return status;
    if (command_) return command_->Wait();
    return signals_.arrived() ? kInterrupted : 0;
  }

 private:
  base::Result<void> Start() {
    ASSIGN_OR_RETURN(agent::AgentOptions agent_options, ToAgentOptions(options_));
    const bool has_command = !options_.command.empty();
    agent_options.chosen_processes_only = !options_.all && (has_command || !options_.pids.empty());
    agent_options.follow_children = has_command && !options_.all;
    const rlimit file_limit = RaiseFileLimit();
    ASSIGN_OR_RETURN(agent_, agent::Agent::Create(agent_options));
    SayRefusedCache("record", agent_->namer());
    if (has_command) {
      ASSIGN_OR_RETURN(RecordedCommand command,
                       RecordedCommand::Start(options_.command, file_limit));
      command_.emplace(std::move(command));
      if (agent_options.chosen_processes_only) {
        RETURN_IF_ERROR(agent_->ChooseProcess(static_cast<uint32_t>(command_->pid())));
      }
    }
    started_mono_ns_ = NowMonoNs();
    started_unix_ns_ = NowUnixNs();
    RETURN_IF_ERROR(agent_->Start());
    if (command_) RETURN_IF_ERROR(command_->Release());
    return {};
  }

  void SayLimitChange() {
    const auto change = agent_->governor().TakeChange();
    if (!change) return;
    progress_.Clear();
    std::fprintf(stderr, "vesta record: %s\n",
                 TextOf(*change, agent_->governor().options()).c_str());
  }

  uint64_t TimeLeftNs() const {
    if (options_.duration_ns == 0) return kPollNs;
    const uint64_t elapsed_ns = NowMonoNs() - started_mono_ns_;
    return std::min(kPollNs, options_.duration_ns - std::min(elapsed_ns, options_.duration_ns));
  }

  bool IsOver() {
    if (signals_.arrived()) return true;
    if (options_.duration_ns != 0 && NowMonoNs() - started_mono_ns_ >= options_.duration_ns) {
      return true;
    }
    if (command_) return command_->Poll().has_value();
    // Only the end of all of them ends the recording.
    return !options_.pids.empty() &&
           std::none_of(options_.pids.begin(), options_.pids.end(), ProcessExists);
  }

  // Binaries that were met for the first time are read; another Ctrl-C uses what is there.
  void WaitForNames() {
    const int signals = signals_.count();
    agent_->namer().WaitIdle(NowMonoNs() + options_.symbol_wait_ns,
                             [&](const agent::naming::Namer::Progress& naming) {
                               progress_.ShowNaming(NowMonoNs(), naming.done, naming.wanted,
                                                    naming.path, naming.percent);
                               return signals_.count() == signals;
                             });
    progress_.Clear();
  }

  // Prints the table, writes files and the book. Returns an exit status.
  int Report() {
    agent::ProfileBuilder builder(agent_->processes(), agent_->images(), agent_->namer(),
                                  agent_->generated_code_runtime());
    agent::RecordingFacts facts;
    facts.time_unix_ns = static_cast<int64_t>(started_unix_ns_);
    facts.duration_ns = static_cast<int64_t>(duration_ns_);
    facts.period_ns = PeriodNs(options_);
    const profile::Profile profile = builder.Build(agent_->aggregator(), facts);
    const book::Book book =
        MakeBook(*agent_, builder.book(), started_unix_ns_ / kNsPerMs, duration_ns_);
    progress_.Clear();

    int status = PrintTable(profile, book, builder.kernel_names_problem());
    for (const std::string& path : options_.outputs) {
      if (const auto written = WriteOutput(path, profile, book); !written.ok()) {
        status = ReportFailure("record", written.error());
      }
    }
    if (const auto saved = book::SaveBook(options_.state_dir, book); !saved.ok()) {
      // The recording itself is whole; only `vesta doctor` will not know of it.
      std::fprintf(stderr, "vesta record: the book of this recording was not kept: %s\n",
                   saved.error().message().c_str());
    }
    return status;
  }

  // Says what was written and what its format could not hold.
  base::Result<void> WriteOutput(const std::string& path, const profile::Profile& profile,
                                 const book::Book& book) {
    ASSIGN_OR_RETURN(const wire::OutputFormat format, wire::FormatOfName(path));
    progress_.Say("writing " + base::Printable(path));
    ASSIGN_OR_RETURN(OutputOptions output, OutputOptionsOf(options_, profile, path));
    output.notes = QualityNotes(book);
    ASSIGN_OR_RETURN(const std::string bytes, EncodeOutput(profile, format, output));
    RETURN_IF_ERROR(wire::WriteWholeFile(path, bytes));
    progress_.Clear();
    SayWritten(path, LossesOfOutput(profile, format, output), options_.quiet);
    return {};
  }

  int PrintTable(const profile::Profile& profile, const book::Book& book,
                 const std::string& kernel_names_problem) {
    const size_t cpu = profile.DefaultSampleTypeIndex();
    flame::TopRenderOptions render = RenderOptionsOf(options_);
    render.notes = QualityNotes(book);
    for (const std::string& note : LimitNotes(agent_->governor())) render.notes.push_back(note);
    if (const std::string note = PendingNote(agent_->namer()); !note.empty()) {
      render.notes.push_back(note);
    }
    const std::string unwanted = UnwantedNote(book);
    if (!unwanted.empty()) {
      render.notes.push_back(unwanted);
    } else if (profile.sample_count() == 0) {
      render.notes.push_back("nothing that was to be recorded used a CPU");
    }
    if (!kernel_names_problem.empty()) {
      render.notes.push_back("kernel functions have no names: " + kernel_names_problem);
    }
    flame::TopTable table = flame::MakeTopTable(profile, cpu, OrderOf(options_));
    table.cpu_count = agent_->cpu_count();
    const std::string text = flame::RenderTopText(table, render);
    // A profile on standard output must stay readable for the next program.
    const bool output_is_taken =
        std::any_of(options_.outputs.begin(), options_.outputs.end(),
                    [](const std::string& path) { return path == "-" || path == "/dev/stdout"; });
    if (!output_is_taken) return PrintOut(text);
    std::fputs(text.c_str(), stderr);
    return 0;
  }

  const RecordOptions& options_;
  StopSignals signals_;
  Progress progress_;
  std::unique_ptr<agent::Agent> agent_;
  std::optional<RecordedCommand> command_;
  uint64_t started_mono_ns_ = 0;
  uint64_t started_unix_ns_ = 0;
  uint64_t duration_ns_ = 0;
};

}  // namespace

int RunRecord(const RecordOptions& options) {
  const auto status = Recording(options).Run();
  return status.ok() ? *status : ReportFailure("record", status.error());
}

}  // namespace vesta::cli
