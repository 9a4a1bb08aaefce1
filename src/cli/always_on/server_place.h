// Where the server of a folder listens, kept in the folder beside its lock, so that a command that
// finds the folder locked asks that very server, and no other.
#pragma once

#include <string>

#include "src/base/result.h"

namespace vesta::cli {

// Shape: `instance` is told by the server as well (/api/v1/status), and no other has the same.
struct ServerPlace {
  std::string url;
  std::string instance;
};

// 32 hexadecimal digits, by chance.
std::string NewInstance();

// In DIR/SERVER. Errors: as open(2), write(2).
base::Result<void> WriteServerPlace(const std::string& folder, const ServerPlace& place);
void RemoveServerPlace(const std::string& folder);
// Shape: a URL of this machine alone: a server that listens at all addresses is asked at its own,
//        and a token goes nowhere else, whatever a file says.
// Errors: as open(2); Corrupt for what is no such file; Unsupported for a URL of another address.
base::Result<ServerPlace> ReadServerPlace(const std::string& folder);

}  // namespace vesta::cli
