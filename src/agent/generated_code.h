// Who can name code that a process has generated.
#pragma once

#include <vector>

#include "src/agent/process/image_store.h"
#include "src/agent/runtime/runtime.h"

namespace vesta::agent {

// The processes whose names hold for an image of generated code: the one that it belongs to, then
// those that this was forked from, the nearest first and not all the way back, for what none
// before them names.
std::vector<runtime::ProcessKey> NamersOf(const process::Image& image,
                                          const process::ImageStore& images);

}  // namespace vesta::agent
