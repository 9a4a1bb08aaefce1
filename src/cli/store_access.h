// Asks a store, through a server or in this process: the commands see no difference.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/cli/settings/options.h"

namespace vesta::cli {

// Shape: as docs/api.md; path without the prefix "/api/v1/"; a body makes it a push.
struct StoreQuestion {
  std::string path;
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::optional<std::string> body = std::nullopt;
};

struct StoreAnswer {
  std::string body;
  std::vector<std::string> notes;  // where the body has no place for them
  bool is_empty = false;           // a file of stacks or rows without any
};

class StoreAccess {
 public:
  virtual ~StoreAccess() = default;
  // Errors: those that docs/api.md lists, with the server's own words; InvalidInput for a question
  //         that is wrong, Exhausted beyond a limit, Unavailable when it may work later.
  virtual base::Result<StoreAnswer> Ask(const StoreQuestion& question) = 0;
};

// The first token of a file as `vesta server` reads it: a line may have what it is good for behind
// it. "" for the path "". Errors: as open(2); InvalidInput when there is none.
base::Result<std::string> ReadTokenFile(const std::string& path);

enum class StoreUse : uint8_t { kRead, kWrite };

// The server of --server, and the folder of --data when nobody listens there. Without --server the
// folder of --data, or its own server when that has it open; without both the server at
// http://127.0.0.1:7171. A folder without a store in it is made for kWrite only.
// Errors: NotFound when there is neither, saying both ways; Busy when a process has the folder that
//         does not answer for it.
base::Result<std::unique_ptr<StoreAccess>> OpenStoreAccess(const Settings& settings, StoreUse use);

}  // namespace vesta::cli
