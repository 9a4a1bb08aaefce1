// What the server says became of this machine's samples, for `vesta doctor`.
#pragma once

#include "src/cli/doctor_report.h"
#include "src/cli/settings/options.h"

namespace vesta::cli {

// Asks the server of --server, else that of this machine, about the agent of --state-dir.
// Errors: in the answer, as text: a doctor that finds no server has the rest to say.
ServerBook AskServerBook(const Settings& settings);

}  // namespace vesta::cli
