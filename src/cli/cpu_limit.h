// How the profiler's CPU limit is told: while it works, under the table, and in the book.
#pragma once

#include <string>
#include <vector>

#include "src/agent/limits/cpu_governor.h"
#include "src/cli/recording_book.h"

namespace vesta::cli {

// One line for a change: what was used, and what is done now.
std::string TextOf(const agent::limits::StepChange& change,
                   const agent::limits::CpuGovernor::Options& limit);

// For a reader of the table; nothing when the rate was always the one that was asked for.
std::vector<std::string> LimitNotes(const agent::limits::CpuGovernor& governor);

// Number of changes and the time at each step that was ever reached.
Reasons LimitDetails(const agent::limits::CpuGovernor& governor);

}  // namespace vesta::cli
