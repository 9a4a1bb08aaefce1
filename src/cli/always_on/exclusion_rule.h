// --exclude: processes that are not to be sampled, told by selectors over the labels that their
// samples would have.
#pragma once

#include <string>
#include <vector>

#include "src/agent/process/task_list.h"
#include "src/base/result.h"
#include "src/batch/batch.h"

namespace vesta::cli {

// Null without selectors. A process is excluded when one of them fits it; what a label of the
// process is called and means is as in the store (docs/query.md), host_labels included, and `pid`.
// Errors: InvalidInput for a selector that has a type, a time, no matcher, or one of `thread`,
// `tid` or
//         `incomplete`, which a process does not have.
base::Result<agent::process::ExclusionRule> MakeExclusionRule(
    const std::vector<std::string>& selectors, const batch::Labels& host_labels);

}  // namespace vesta::cli
