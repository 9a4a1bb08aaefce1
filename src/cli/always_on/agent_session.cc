#include "src/cli/always_on/agent_session.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "abi/counters.h"
#include "src/agent/source/probe.h"
#include "src/agent/stop_reason.h"
#include "src/base/printable.h"
#include "src/cli/always_on/cpu_limit.h"
#include "src/cli/always_on/exclusion_rule.h"

namespace vesta::cli {
namespace {

// A signal handler can reach nothing else.
volatile std::sig_atomic_t stop_signals_arrived = 0;

void NoteStopSignal(int) { stop_signals_arrived = stop_signals_arrived + 1; }

// Sent for a write that also fails: nobody reads the pipe, the file may not grow (ulimit -f).
constexpr int kWriteSignals[] = {SIGPIPE, SIGXFSZ};

// Unlike "ignore", a handler is not handed down to a command that is started.
void Continue(int) {}

void SetHandler(int signal, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

bool IsIgnored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

uint64_t ClockNs(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

enum class CounterKind { RECEIVED, EXCLUDED, KEPT, DROPPED, DETAIL };

struct CounterInfo {
  const char* name;
  CounterKind kind;
};

constexpr CounterInfo kCounters[] = {
#define COUNTER_INFO(name, kind, meaning) {#name, CounterKind::kind},
    ABI_COUNTERS(COUNTER_INFO)
#undef COUNTER_INFO
};

// "dropped_ring_full" -> "ring_full"
std::string WithoutPrefix(const std::string& name) {
  const size_t underscore = name.find('_');
  return underscore == std::string::npos ? name : name.substr(underscore + 1);
}

// The kernel's own page.
book::Stage KernelStage(const agent::source::KernelBook& kernel, book::Reasons& details) {
  book::Stage stage;
  stage.name = "kernel";
  for (int i = 0; i < ABI_COUNTER_COUNT; ++i) {
    const uint64_t value = kernel.page.value[i];
    const std::string name = kCounters[i].name;
    switch (kCounters[i].kind) {
      case CounterKind::RECEIVED:
        stage.received = value;
        break;
      case CounterKind::EXCLUDED:
        stage.excluded.emplace_back(WithoutPrefix(name), value);
        break;
      case CounterKind::KEPT:
        stage.kept = value;
        break;
      case CounterKind::DROPPED:
        stage.dropped.emplace_back(WithoutPrefix(name), value);
        break;
      case CounterKind::DETAIL:
        details.emplace_back(name, value);
        break;
    }
  }
  return stage;
}

void AppendCodeFileDetails(const std::string& kind, const agent::runtime::CodeFileBook& book,
                           book::Reasons& details) {
  details.emplace_back(kind + "_files_refused", book.files_refused);
  details.emplace_back(kind + "_files_rewritten", book.files_rewritten);
  details.emplace_back(kind + "_files_read_twice", book.files_reread);
  details.emplace_back(kind + "_parts_damaged", book.parts_damaged);
  details.emplace_back(kind + "_names_changed", book.names_changed);
}

void AppendNamingDetails(const agent::naming::Namer& namer, book::Reasons& details) {
  const agent::naming::NamerBook& book = namer.book();
  details.emplace_back("symbol_cache_hits", book.cache_hits);
  details.emplace_back("symbol_cache_refused", namer.cache().refused_why().empty() ? 0 : 1);
  details.emplace_back("symbol_cache_files_removed", namer.cache().removed_files());
  details.emplace_back("symbol_index_damaged", book.indexes_damaged);
  details.emplace_back("symbol_index_open_for_writing", book.indexes_busy);
  details.emplace_back("symbol_index_built", book.built);
  details.emplace_back("symbol_index_invalid", book.invalid);
  details.emplace_back("symbol_index_not_tried_again", book.skipped_by_note);
  details.emplace_back("symbol_index_not_ready", namer.pending_count());
  for (size_t i = 0; i < agent::naming::kIndexEndCount; ++i) {
    const auto end = static_cast<agent::naming::IndexEnd>(i);
    details.emplace_back(std::string("symbol_process_") + agent::naming::IndexEndName(end),
                         book.ended[i]);
  }
  details.emplace_back("symbol_process_cpu_ms", namer.helper_cpu_ns() / 1'000'000);
  details.emplace_back("symbol_process_peak_kb", book.peak_memory_bytes / 1024);
}

}  // namespace

base::Result<agent::AgentOptions> ToAgentOptions(const Settings& settings,
                                                 const batch::Labels& host_labels) {
  agent::AgentOptions options;
  ASSIGN_OR_RETURN(options.exclusion_rule, MakeExclusionRule(settings.exclude, host_labels));
  options.tick = settings.event == Event::kCycles ? agent::source::TickEvent::kCycles
                                                  : agent::source::TickEvent::kCpuClock;
  options.frequency_hz = settings.frequency_hz;
  options.ring_bytes = settings.ring_bytes;
  options.memory_limit_bytes = settings.memory_limit_bytes;
  options.table_budget_bytes = settings.table_budget_bytes;
  options.cpu_limit_milli_percent = settings.cpu_limit_milli_percent;
  options.pids = settings.pids;
  options.naming.cache.folder = settings.symbol_cache;
  options.naming.cache.bytes_max = settings.symbol_cache_bytes;
  if (!settings.debuginfod.empty()) options.naming.debuginfod_urls = {settings.debuginfod};
  switch (settings.unwind_loop) {
    case UnwindLoop::kAuto:
      options.loop = agent::source::WalkerLoop::kAuto;
      break;
    case UnwindLoop::kBpfLoop:
      options.loop = agent::source::WalkerLoop::kBpfLoop;
      break;
    case UnwindLoop::kBounded:
      options.loop = agent::source::WalkerLoop::kBounded;
      break;
  }
  return options;
}

int64_t PeriodNs(const Settings& settings) {
  return 1'000'000'000 / static_cast<int64_t>(settings.frequency_hz);
}

rlimit RaiseFileLimit() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);  // refused: what there is has to do
  return before;
}

bool ProcessExists(uint32_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

base::Result<void> CheckChoice(const std::vector<uint32_t>& pids, bool has_command) {
  // The kernel would take the number for that of another process, outside.
  if ((has_command || !pids.empty()) && !agent::source::SeesKernelPids()) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "processes cannot be chosen by a pid of this container: share the host's "
                       "pid namespace (docker run --pid=host), or record the whole machine "
                       "with --all");
  }
  for (const uint32_t pid : pids) {
    if (!ProcessExists(pid)) {
      return base::Error(base::ErrorCode::kNotFound, "there is no process " + std::to_string(pid) +
                                                         "; `pgrep -l NAME` finds pids by name");
    }
  }
  return {};
}

StopSignals::StopSignals() {
  stop_signals_arrived = 0;
  SetHandler(SIGINT, NoteStopSignal, 0);
  SetHandler(SIGTERM, NoteStopSignal, 0);
  if (!IsIgnored(SIGHUP)) SetHandler(SIGHUP, NoteStopSignal, 0);  // ignored: nohup
  for (const int signal : kWriteSignals) {
    if (!IsIgnored(signal)) SetHandler(signal, Continue, 0);
  }
}

StopSignals::~StopSignals() {
  SetHandler(SIGINT, SIG_DFL, 0);
  SetHandler(SIGTERM, SIG_DFL, 0);
  if (!IsIgnored(SIGHUP)) SetHandler(SIGHUP, SIG_DFL, 0);
  for (const int signal : kWriteSignals) {
    if (!IsIgnored(signal)) SetHandler(signal, SIG_DFL, 0);
  }
}

int StopSignals::count() const { return stop_signals_arrived; }

void StopSignals::Wait() const {
  constexpr timespec kPause{0, 50'000'000};  // another thread may be the one that it comes to
  while (!arrived()) ::nanosleep(&kPause, nullptr);
}

uint64_t NowMonoNs() { return ClockNs(CLOCK_MONOTONIC); }
uint64_t NowUnixNs() { return ClockNs(CLOCK_REALTIME); }

book::Book MakeBook(agent::Agent& agent, const agent::NamingBook& naming, uint64_t time_unix_ms,
                    uint64_t duration_ns) {
  book::Book book;
  book.time_unix_ms = time_unix_ms;
  book.duration_ns = duration_ns;
  const agent::source::KernelBook kernel = agent.source().ReadBook();
  book.stages.push_back(KernelStage(kernel, book.details));

  // Between the ring and the aggregator a record can only be damaged.
  const agent::aggregate::AggregatorBook& aggregator = agent.aggregator().book();
  book::Stage stage;
  stage.name = "agent";
  const agent::UnwantedProcesses::Counts& excluded = agent.excluded();
  stage.received =
      aggregator.received + kernel.damaged_records + excluded.opted_out + excluded.by_rule;
  stage.excluded.emplace_back("opted_out", excluded.opted_out);
  stage.excluded.emplace_back("by_rule", excluded.by_rule);
  stage.kept = aggregator.kept;
  stage.dropped.emplace_back("damaged_record", kernel.damaged_records);
  stage.dropped.emplace_back("memory", aggregator.dropped_memory);
  book.stages.push_back(stage);

  for (size_t i = 0; i < ABI_STOP_COUNT; ++i) {
    const agent::StopReasonInfo& stop = agent::InfoOf(static_cast<abi_stop_reason>(i));
    if (!stop.is_complete) {
      book.incomplete.emplace_back(stop.name, aggregator.kept_by_stop_reason[i]);
    }
  }
  const auto detail = [&](const char* name, uint64_t value) {
    book.details.emplace_back(name, value);
  };
  const agent::process::ProcessCounters& processes = agent.processes().counters();
  const agent::unwind::TableStoreBook& tables = agent.tables().book();
  detail("ring_waiting", book.stages[0].kept - std::min(book.stages[0].kept, stage.received));
  detail("sequence_gaps", kernel.sequence_gaps);
  detail("process_events", kernel.process_events);
  detail("process_events_lost", kernel.process_events_lost);
  detail("walks_finished_by_agent", agent.finish_book().completed);
  detail("walks_with_all_registers", agent.finish_book().with_all_registers);
  detail("walks_with_all_registers_completed", agent.finish_book().with_all_registers_completed);
  detail("rule_copies_stopped", agent.rule_copy_limit().stopped_count());
  detail("tables_loaded", tables.loaded);
  detail("tables_evicted", tables.evicted);
  detail("tables_too_large", tables.refused_too_large);
  detail("tables_failed", tables.failed);
  detail("tables_deferred", tables.deferred);
  detail("table_bytes", agent.tables().used_bytes());
  detail("eh_frame_bytes", tables.eh_frame_bytes);
  detail("code_bytes_scanned_for_rules", tables.scanned_code_bytes);
  detail("code_bytes_left_out", tables.left_out_code_bytes);
  detail("table_build_us", tables.build_time_ns / 1000);
  detail("labels_unknown", processes.labels_unknown);
  detail("mappings_beyond_limit", processes.mappings_beyond_limit);
  detail("processes_beyond_limit", processes.processes_beyond_limit);
  detail("labels_inherited", processes.labels_inherited);
  detail("opt_outs_not_understood", processes.opt_outs_unclear);
  detail("images_beyond_limit", agent.images().counters().images_beyond_limit);
  detail("images_recycled", agent.images().counters().images_recycled);
  detail("tables_not_published", agent.finish_book().tables_not_published);
  detail("processes_without_room", agent.publisher_book().refused_no_room);
  detail("processes_with_too_many_mappings", agent.publisher_book().refused_too_many);
  for (const auto& [name, value] : LimitDetails(agent.governor())) detail(name.c_str(), value);
  AppendNamingDetails(agent.namer(), book.details);
  AppendCodeFileDetails("perf_map", agent.generated_code_runtime().perf_map_book(), book.details);
  AppendCodeFileDetails("jitdump", agent.generated_code_runtime().jitdump_book(), book.details);
  detail("sample_times_dropped", aggregator.times_dropped);
  detail("images_unreadable", naming.images_unreadable);
  detail("addresses", naming.addresses);
  detail("addresses_unnamed", naming.unnamed);
  return book;
}

std::vector<std::string> QualityNotes(const book::Book& book) {
  std::vector<std::string> notes;
  uint64_t kept = 0;
  std::string lost;
  uint64_t lost_count = 0;
  for (const book::Stage& stage : book.stages) {
    kept = stage.kept;
    for (const auto& [reason, count] : stage.dropped) {
      if (count == 0) continue;
      lost_count += count;
      lost += (lost.empty() ? "" : ", ") + reason + " " + std::to_string(count);
    }
  }
  if (lost_count != 0) {
    notes.push_back(std::to_string(lost_count) + " samples lost (" + lost + ")");
  }
  std::string incomplete;
  uint64_t incomplete_count = 0;
  for (const auto& [reason, count] : book.incomplete) {
    if (count == 0) continue;
    incomplete_count += count;
    incomplete += (incomplete.empty() ? "" : ", ") + reason + " " + std::to_string(count);
  }
  if (incomplete_count != 0) {
    char share[32];
    std::snprintf(share, sizeof(share), "%.2f%%",
                  100.0 * static_cast<double>(incomplete_count) / static_cast<double>(kept));
    notes.push_back(std::to_string(incomplete_count) + " stacks incomplete, " + share + " (" +
                    incomplete + ")");
  }
  return notes;
}

std::string UnwantedNote(const book::Book& book) {
  uint64_t opted_out = 0;
  uint64_t by_rule = 0;
  for (const book::Stage& stage : book.stages) {
    for (const auto& [reason, count] : stage.excluded) {
      if (reason == "opted_out") opted_out += count;
      if (reason == "by_rule") by_rule += count;
    }
  }
  if (opted_out + by_rule == 0) return "";
  std::string note = std::to_string(opted_out + by_rule) + " samples were left out: of processes ";
  if (opted_out != 0) note += "with VESTA_PROFILE=off in their environment";
  if (opted_out != 0 && by_rule != 0) note += ", and of those ";
  if (by_rule != 0) note += "that --exclude names";
  return note;
}

std::string PendingNote(const agent::naming::Namer& namer) {
  const size_t count = namer.pending_count();
  if (count == 0) return "";
  return (count == 1 ? "names of one binary are"
                     : "names of " + std::to_string(count) + " binaries are") +
         std::string(
             " without lines: reading them was not finished; run again, or wait longer "
             "with --symbol-wait");
}

void SayRefusedCache(const std::string& command, const agent::naming::Namer& namer) {
  const std::string& why = namer.cache().refused_why();
  if (why.empty()) return;
  std::fprintf(stderr,
               "vesta %s: the symbol cache is not used, binaries are read anew each time: %s\n",
               command.c_str(), base::Printable(why).c_str());
}

}  // namespace vesta::cli
