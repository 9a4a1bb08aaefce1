// `vesta top` without a file: the table of the last interval, again and again.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "src/cli/always_on/agent_session.h"
#include "src/cli/always_on/cpu_limit.h"
#include "src/cli/output.h"
#include "src/cli/run.h"
#include "src/cli/top_view.h"

namespace vesta::cli {
namespace {

constexpr uint64_t kPollNs = 100'000'000;
constexpr uint64_t kNsPerMs = 1'000'000;
constexpr const char* kHomeAndClear = "\033[H\033[2J";
constexpr const char* kEnterScreen = "\033[?1049h\033[?25l";
constexpr const char* kLeaveScreen = "\033[?25h\033[?1049l";
// Heading, notes, titles and the rest line around the rows.
constexpr size_t kLinesAroundRows = 8;

// A screen of its own while it lives, so that the user's scroll-back stays as it was.
class Screen {
 public:
  explicit Screen(bool on_terminal) : on_terminal_(on_terminal) {
    if (on_terminal_) PrintOut(kEnterScreen);
  }
  ~Screen() {
    if (on_terminal_) PrintOut(kLeaveScreen);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

 private:
  bool on_terminal_;
};

class LiveTop {
 public:
  explicit LiveTop(const TopOptions& options)
      : options_(options),
        on_terminal_(options.format == Format::kTable && ::isatty(STDOUT_FILENO) == 1) {}

  base::Result<int> Run() {
    RETURN_IF_ERROR(CheckChoice(options_.pids, false));
    ASSIGN_OR_RETURN(agent::AgentOptions agent_options, ToAgentOptions(options_));
    agent_options.chosen_processes_only = !options_.pids.empty();
    RaiseFileLimit();
    ASSIGN_OR_RETURN(agent_, agent::Agent::Create(agent_options));
    SayRefusedCache("top", agent_->namer());
    builder_ = std::make_unique<agent::ProfileBuilder>(
        agent_->processes(), agent_->images(), agent_->namer(), agent_->generated_code_runtime());
    RETURN_IF_ERROR(agent_->Start());
    started_mono_ns_ = NowMonoNs();
    interval_started_mono_ns_ = agent_->taken_until_mono_ns();
    const Screen screen(on_terminal_);
    int status = 0;
    while (status == 0 && !IsOver()) status = ShowInterval();
    agent_->Stop();
    return status;
  }

 private:
  bool IsOver() const {
    if (signals_.arrived()) return true;
    if (options_.duration_ns != 0 && NowMonoNs() - started_mono_ns_ >= options_.duration_ns) {
      return true;
    }
    return !options_.pids.empty() &&
           std::none_of(options_.pids.begin(), options_.pids.end(), ProcessExists);
  }

  int ShowInterval() {
    // By the time of the samples: those that came while names were looked up, or while nobody read
    // what we print, belong to this interval, and so does that time.
    uint64_t elapsed_ns = 0;
    while (elapsed_ns < options_.interval_ns && !signals_.arrived()) {
      agent_->Poll(std::min(kPollNs, options_.interval_ns - elapsed_ns));
      elapsed_ns = agent_->taken_until_mono_ns() - interval_started_mono_ns_;
    }
    agent::RecordingFacts facts;
    facts.time_unix_ns = static_cast<int64_t>(NowUnixNs());
    facts.duration_ns = static_cast<int64_t>(elapsed_ns);
    facts.period_ns = PeriodNs(options_);
    interval_started_mono_ns_ += elapsed_ns;
    const profile::Profile profile = builder_->Build(agent_->aggregator(), facts);
    agent_->aggregator().Clear();
    agent_->processes().ResetTasks();
    return Show(profile, facts);
  }

  int Show(const profile::Profile& profile, const agent::RecordingFacts& facts) {
    flame::TopRenderOptions render = RenderOptionsOf(options_);
    const size_t lines = TerminalLines();
    if (lines > kLinesAroundRows) {
      render.rows_max = std::min(render.rows_max, lines - kLinesAroundRows);
    }
    render.notes = QualityNotes(MakeBook(*agent_, builder_->book(),
                                         static_cast<uint64_t>(facts.time_unix_ns) / kNsPerMs,
                                         static_cast<uint64_t>(facts.duration_ns)));
    for (const std::string& note : LimitNotes(agent_->governor())) render.notes.push_back(note);
    flame::TopTable table =
        flame::MakeTopTable(profile, profile.DefaultSampleTypeIndex(), OrderOf(options_));
    table.cpu_count = agent_->cpu_count();
    std::string text = on_terminal_ ? kHomeAndClear : "";
    text += options_.format == Format::kJson ? flame::RenderTopJson(table, render)
                                             : flame::RenderTopText(table, render);
    if (!on_terminal_ && options_.format == Format::kTable) text += '\n';
    return PrintOut(text);
  }

  const TopOptions& options_;
  bool on_terminal_;
  StopSignals signals_;
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<agent::ProfileBuilder> builder_;
  uint64_t started_mono_ns_ = 0;
  uint64_t interval_started_mono_ns_ = 0;
};

}  // namespace

int RunLiveTop(const TopOptions& options) {
  const auto status = LiveTop(options).Run();
  return status.ok() ? *status : ReportFailure("top", status.error());
}

}  // namespace vesta::cli
