// `vesta index-image`: the process in which the agent has the symbol index of one image built. Not
// for people, so no help shows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/symbolize/index_build/index_image.h"

namespace vesta::cli {

inline constexpr std::string_view kIndexImageCommand = "index-image";

// Exit status. What the process says tells more; after a signal nothing is lost but that index.
enum class IndexExit {
  kDone = 0,
  kUsage = 2,
  kUnreadable = 10,  // the image is no ELF file that we read
  kNothing = 11,     // nothing names its code
  kLimit = 12,       // of memory, time, or the size of a file
  kCrashed = 13,     // a file became shorter while it was read, or a bug of ours
  kFailed = 14,
};

struct IndexImageOptions {
  int image_fd = -1;
  int index_fd = -1;
  std::string identity;  // the image's, as the agent knows it; empty = not known
  std::string scratch;   // folder for unpacked sections and fetched files; empty = memory
  uint64_t memory_bytes_max = uint64_t{1} << 30;  // of its own; mapped files do not count
  uint64_t cpu_s_max = 300;
  uint64_t run_s_max = 900;
  symbolize::IndexRequest request;
};

// Errors: InvalidInput with what is wrong.
base::Result<IndexImageOptions> ParseIndexImage(const std::vector<std::string>& arguments);

// Lowers the process, builds the index and reports on standard output: `progress DONE TOTAL` lines,
// `report {...}` with what was found, and at last `ok debug=yes|no` or `failed REASON TEXT`, where
// the reasons are memory, time, no_room, crashed, changed, and the names of error codes.
int RunIndexImage(const std::vector<std::string>& arguments);

}  // namespace vesta::cli
