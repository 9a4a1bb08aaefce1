// Sorted files of late names are written: out of the log, and out of several of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "src/base/result.h"
#include "src/store/symbols/symbol_run.h"

namespace vesta::store {

// Written aside, synced and renamed: it is there whole, or as it was before.
// Errors: as of the system calls, Unavailable when the disk does not take it; what fill returns.
base::Result<void> WriteRunFile(const std::string& path,
                                const std::function<base::Result<void>(symbols::RunWriter*)>& fill);

// Shape:  newest first; of a place the newest fact is taken, unless that is older than
//         oldest_version. Of batches the newest.
// Cost:   a block of each in memory.
// Errors: Corrupt; *damaged is the file then.
base::Result<void> MergeRuns(std::span<const std::shared_ptr<const symbols::SymbolRun>> runs,
                             uint64_t oldest_version, size_t batches_max,
                             symbols::RunWriter* writer, const symbols::SymbolRun** damaged);

}  // namespace vesta::store
