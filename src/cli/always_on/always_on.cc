#include "src/cli/always_on/always_on.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "src/agent/agent.h"
#include "src/agent/collector.h"
#include "src/base/printable.h"
#include "src/book/book.h"
#include "src/cli/always_on/agent_identity.h"
#include "src/cli/always_on/agent_session.h"
#include "src/cli/always_on/cpu_limit.h"
#include "src/cli/always_on/pause_file.h"
#include "src/uplink/uplink.h"

namespace vesta::cli {
namespace {

constexpr uint64_t kPollNs = 100'000'000;
constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kMeasuredNsMin = 500'000'000;
constexpr uint64_t kStopMs = 8'000;  // systemd waits 90 s, Docker 10

uint64_t ThreadCpuNs(clockid_t clock) {
  timespec used{};
  ::clock_gettime(clock, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

class AlwaysOnAgent final : public AlwaysOn {
 public:
  AlwaysOnAgent(const Settings& settings, std::string agent_id, batch::Labels host_labels,
                const Log& log)
      : settings_(settings),
        agent_id_(std::move(agent_id)),
        life_(LifeOfAgent()),
        host_labels_(std::move(host_labels)),
        log_(log) {}

  base::Result<void> Open(uplink::Sink& sink, std::unique_ptr<spool::Spool> spool,
                          bool shares_process) {
    uplink::UplinkOptions uplink_options;
    uplink_options.on_notice = log_;
    ASSIGN_OR_RETURN(agent::AgentOptions options, ToAgentOptions(settings_, host_labels_));
    options.keep_times = true;
    options.shares_process = shares_process;
    // The server's threads, in `vesta up`, are not the agent's.
    clockid_t own_clock{};
    ::pthread_getcpuclockid(::pthread_self(), &own_clock);
    options.own_cpu_ns = [this, own_clock] {
      return ThreadCpuNs(own_clock) + (uplink_ ? uplink_->ThreadCpuNs() : 0);
    };
    ASSIGN_OR_RETURN(agent_, agent::Agent::Create(options));
    if (const std::string& why = agent_->namer().cache().refused_why(); !why.empty()) {
      log_("the symbol cache is not used, binaries are read anew each time: " + why);
    }
    uplink_ = uplink::Uplink::Start(uplink_options, sink, std::move(spool));
    return {};
  }

  base::Result<void> Run(const std::function<bool()>& should_stop) override {
    started_mono_ns_ = NowMonoNs();
    started_unix_ns_ = NowUnixNs();
    agent::CollectorOptions options;
    options.window_ns = settings_.batch_interval_ns;
    options.period_ns = PeriodNs(settings_);
    options.host_labels = host_labels_;
    RETURN_IF_ERROR(agent_->Start());
    measured_until_mono_ns_ = agent_->taken_until_mono_ns();
    agent::Collector collector(*agent_, options);
    while (!should_stop()) {
      ObeyPauseFile();
      Send(collector, collector.Poll(kPollNs));
      for (const std::string& line : TakeLimitLines()) log_(line);
    }
    is_ended_ = true;
    Send(collector, collector.Finish());
    const uplink::UplinkState last = uplink_->Stop(kStopMs);
    SaveOwnBook(collector, last);
    if (last.spool_waiting != 0) {
      log_(std::to_string(last.spool_waiting) +
           (last.spool_waiting == 1
                ? " sample waits in the spool and is sent after the next start"
                : " samples wait in the spool and are sent after the next start"));
    }
    return {};
  }

 private:
  void Send(const agent::Collector& collector, agent::Collected collected) {
    if (collected.symbols) {
      auto owned = std::make_unique<uplink::OwnedSymbols>();
      owned->profile = std::move(collected.symbols->profile);
      owned->symbols = std::move(collected.symbols->symbols);
      owned->symbols.id = NextId();
      uplink_->Push(std::move(owned));
    }
    if (!collected.batch) return;
    MeasureUse(collected.batch->batch);
    auto owned = std::make_unique<uplink::OwnedBatch>();
    owned->profile = std::move(collected.batch->profile);
    owned->batch = std::move(collected.batch->batch);
    owned->batch.id = NextId();
    owned->facts.scope_version = VESTA_VERSION;
    owned->facts.clock = {.monotonic_ns = collected.clock.mono_ns,
                          .unix_ns = collected.clock.unix_ns,
                          .error_ns = collected.clock.error_ns};
    owned->book = OwnBook(collector);
    uplink_->Push(std::move(owned));
    SaveOwnBook(collector, uplink_->State());
  }

  // Short batches, such as the first, tell too little.
  void MeasureUse(const batch::Batch& batch) {
    for (const batch::BatchRow& row : batch.rows) measured_ns_ += static_cast<uint64_t>(row.value);
    const uint64_t until_mono_ns = agent_->taken_until_mono_ns();
    const uint64_t elapsed_ns = until_mono_ns - measured_until_mono_ns_;
    if (elapsed_ns < kMeasuredNsMin) return;
    cpus_sampled_milli_ = measured_ns_ / (elapsed_ns / 1000);
    measured_until_mono_ns_ = until_mono_ns;
    measured_ns_ = 0;
  }

  batch::BatchId NextId() { return {agent_id_, life_, ++sequence_}; }

  book::Book OwnBook(const agent::Collector& collector) {
    book::Book book = MakeBook(*agent_, collector.naming_book(), started_unix_ns_ / kNsPerMs,
                               NowMonoNs() - started_mono_ns_);
    const agent::LateNamesBook& late = collector.late_names_book();
    book.details.emplace_back("late_names_sent", late.addresses_named);
    book.details.emplace_back("late_names_unchanged", late.addresses_unchanged);
    book.details.emplace_back("late_names_dropped", late.addresses_dropped);
    book.details.emplace_back("windows_cut_early", collector.windows_cut_early());
    book.details.emplace_back("pauses", pauses_);
    for (auto& detail :
         SamplingDetails(agent_->governor(),
                         {is_paused_, is_ended_, agent_->cpu_count(), cpus_sampled_milli_})) {
      book.details.push_back(std::move(detail));
    }
    return book;
  }

  // For `vesta doctor`, also when the server is away.
  void SaveOwnBook(const agent::Collector& collector, const uplink::UplinkState& state) {
    book::Book book = OwnBook(collector);
    book.stages.push_back(state.queue);
    book.stages.push_back(state.spool);
    for (const auto& detail : state.details) book.details.push_back(detail);
    const auto saved = book::SaveBook(settings_.state_dir, book, book::BookKind::kAgent);
    if (saved.ok() || is_saving_refused_) return;
    is_saving_refused_ = true;
    log_("the agent's book is not kept, so `vesta doctor` will not know of it: " +
         saved.error().message());
  }

  void ObeyPauseFile() {
    const bool is_wanted =
        IsPaused(settings_.pause_file, static_cast<int64_t>(NowUnixNs() / kNsPerMs));
    if (is_wanted == is_paused_) return;
    is_paused_ = is_wanted;
    agent_->SetPaused(is_paused_);
    if (is_paused_) ++pauses_;
    log_(is_paused_ ? "paused: nothing is sampled while " + settings_.pause_file +
                          " is there (`vesta resume` removes it)"
                    : "resumed: sampling again");
  }

  std::vector<std::string> TakeLimitLines() {
    std::vector<std::string> lines;
    if (const auto change = agent_->governor().TakeChange()) {
      lines.push_back(TextOf(*change, agent_->governor().options()));
    }
    return lines;
  }

  const Settings& settings_;
  const std::string agent_id_;
  const std::string life_;
  const batch::Labels host_labels_;
  const Log log_;
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<uplink::Uplink> uplink_;
  uint64_t sequence_ = 0;
  uint64_t started_mono_ns_ = 0;
  uint64_t started_unix_ns_ = 0;
  uint64_t pauses_ = 0;
  uint64_t measured_until_mono_ns_ = 0;
  uint64_t measured_ns_ = 0;  // CPU time of samples since then
  uint64_t cpus_sampled_milli_ = 0;
  bool is_paused_ = false;
  bool is_ended_ = false;  // the book says so: an agent that is gone is not one that fell silent
  bool is_saving_refused_ = false;
};

}  // namespace

base::Result<std::unique_ptr<spool::Spool>> OpenSpool(const Settings& settings, const Log& log) {
  if (settings.spool_bytes == 0) return std::unique_ptr<spool::Spool>();
  RETURN_IF_ERROR(book::MakeStateFolder(settings.state_dir));
  spool::SpoolOptions options;
  options.folder = settings.state_dir + "/spool";
  options.bytes_max = settings.spool_bytes;
  options.age_ms_max = settings.spool_age_ns / kNsPerMs;
  options.on_notice = log;
  return spool::Spool::Open(options);
}

base::Result<std::unique_ptr<AlwaysOn>> AlwaysOn::Create(const Settings& settings,
                                                         uplink::Sink& sink,
                                                         std::unique_ptr<spool::Spool> spool,
                                                         bool shares_process, const Log& log) {
  ASSIGN_OR_RETURN(std::string agent_id, LoadAgentId(settings.state_dir));
  ASSIGN_OR_RETURN(batch::Labels labels, HostLabels(settings.labels));
  auto made =
      std::make_unique<AlwaysOnAgent>(settings, std::move(agent_id), std::move(labels), log);
  RETURN_IF_ERROR(made->Open(sink, std::move(spool), shares_process));
  return std::unique_ptr<AlwaysOn>(std::move(made));
}

}  // namespace vesta::cli
