// What `record` and the live `top` share: an agent made from the user's options, the signals that
// end it, and its book.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/agent/agent.h"
#include "src/agent/profile_builder.h"
#include "src/batch/batch.h"
#include "src/book/book.h"
#include "src/cli/settings/options.h"

namespace vesta::cli {

// host_labels: what --label says of all processes.
// Errors: InvalidInput for an --exclude that selects no processes.
base::Result<agent::AgentOptions> ToAgentOptions(const Settings& settings,
                                                 const batch::Labels& host_labels = {});

// CPU time that one sample stands for.
int64_t PeriodNs(const Settings& settings);

// Whether these processes, or the one of a command, can be told from others.
// Lets this process open as many files as it is allowed to (an event per CPU and up to 256 images
// are more than the usual 1024 on large machines). Returns the limit from before, for a child.
rlimit RaiseFileLimit();

// Errors: NotFound for a pid that no process has; Unsupported where pids are not the kernel's.
base::Result<void> CheckChoice(const std::vector<uint32_t>& pids, bool has_command);
bool ProcessExists(uint32_t pid);

// While it lives, SIGINT, SIGTERM and the end of the terminal (SIGHUP) are asked for by arrived(),
// and a reader that leaves (SIGPIPE) or a file that may not grow (SIGXFSZ) is an error of the write
// and does not end the program.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  bool arrived() const { return count() != 0; }
  int count() const;  // so far
  void Wait() const;  // until one arrived
};

// While samples are taken, what is still in the ring is a detail, ring_waiting.
book::Book MakeBook(agent::Agent& agent, const agent::NamingBook& naming, uint64_t time_unix_ms,
                    uint64_t duration_ns);

// What a reader of the table must know: samples lost, stacks incomplete; nothing when all is well.
std::vector<std::string> QualityNotes(const book::Book& book);

// That some processes were left out because they, or --exclude, said so; empty when none was.
std::string UnwantedNote(const book::Book& book);

// That names are not whole; empty when they are.
std::string PendingNote(const agent::naming::Namer& namer);
// On standard error: why the symbol cache is not used, if so.
void SayRefusedCache(const std::string& command, const agent::naming::Namer& namer);

uint64_t NowMonoNs();
uint64_t NowUnixNs();

}  // namespace vesta::cli
