// What the options of the commands that ask a store become as parameters of a question.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/cli/settings/options.h"
#include "src/cli/store_access.h"

namespace vesta::cli {

// `query`, and the range of --from and --to.
StoreQuestion QuestionOf(const std::string& path, const std::string& query,
                         const Settings& settings);

// Adds the parameters of an answer for a terminal, or for a program with `json`: its lines, and how
// wide it is. `is_printed` is false when the answer goes into a file.
void AskForTable(const Settings& settings, bool json, bool is_printed, StoreQuestion& question);

// Says on standard error what a reader of the answer must know.
void SayNotes(const std::string& command, const StoreAnswer& answer);

// Errors: NotFound for an answer without anything in it, saying why.
base::Result<void> CheckFound(const StoreAnswer& answer, const std::string& query);

// The labels of --by as a question has them: a thread is told together with its process; "" = none.
std::string ByParameter(const std::string& by);

}  // namespace vesta::cli
