// How the profiler's CPU limit is told: while it works, under the table, and in the book.
#pragma once

#include <string>
#include <vector>

#include "src/agent/limits/cpu_governor.h"
#include "src/book/book.h"

namespace vesta::cli {

// One line for a change: what was used, and what is done now.
std::string TextOf(const agent::limits::StepChange& change,
                   const agent::limits::CpuGovernor::Options& limit);

// For a reader of the table; nothing when the rate was always the one that was asked for.
std::vector<std::string> LimitNotes(const agent::limits::CpuGovernor& governor);

// Number of changes and the time at each step that was ever reached.
book::Reasons LimitDetails(const agent::limits::CpuGovernor& governor);

// What an agent says of its sampling besides its rate.
struct SamplingFacts {
  bool is_paused = false;
  bool is_ended = false;            // in good order
  uint32_t cpu_count = 0;           // of the machine; 0 = unknown
  uint64_t cpus_sampled_milli = 0;  // so many of them were in use, by the newest samples
};

// How often an agent samples, for its book: asked for, and now (0 = the limit lets it take none).
book::Reasons SamplingDetails(const agent::limits::CpuGovernor& governor,
                              const SamplingFacts& facts);
// The same of a book, in words; "" = the book does not say.
std::string SamplingText(const book::Book& book);

}  // namespace vesta::cli
