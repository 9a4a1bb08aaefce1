// Fetches debug files from debuginfod servers. The client library is loaded when it is first
// needed, so that nobody else pays for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/symbolize/debug_file/debug_object.h"

namespace vesta::symbolize {

struct DebuginfodOptions {
  std::vector<std::string> urls;  // empty = off
  uint64_t timeout_ms = 60'000;   // for all of them together
  uint64_t file_bytes_max = uint64_t{2} << 30;
  uint64_t kept_bytes_max = uint64_t{4} << 30;  // of all fetched files in the folder
  int folder_fd = -1;                           // where they are kept; -1 = nowhere
};

// The debug file with this build id: kept from before, else of the first server that has it.
// Cost:   blocks up to the timeout; for a process of its own.
// Errors: NotFound when no server has it, Unavailable when one could not be asked, Unsupported
//         without a library; `reasons` say more. What has another build id is refused.
base::Result<std::unique_ptr<base::FileSource>> FetchDebugFile(const DebuginfodOptions& options,
                                                               const std::string& build_id,
                                                               Reasons& reasons);

}  // namespace vesta::symbolize
