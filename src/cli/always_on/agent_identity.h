// Who an agent is: what makes its batches count once, and what all its series have in common.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/batch/batch.h"

namespace vesta::cli {

// STATE_DIR/agent_id: 32 hex digits, made by chance the first time.
// Errors: as open(2), write(2); Corrupt when the file holds something else, naming it.
base::Result<std::string> LoadAgentId(const std::string& state_dir);

// Names this life of the agent: the machine's boot and the time of the start within it, so that
// sequences may begin again.
std::string LifeOfAgent();

// host.name, and the labels that were given: NAME=VALUE, aliases allowed.
// Errors: InvalidInput naming the label.
base::Result<batch::Labels> HostLabels(const std::vector<std::string>& given);

}  // namespace vesta::cli
