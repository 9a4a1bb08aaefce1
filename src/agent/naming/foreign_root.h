// Holds on to the root folder of a process that sees other files than we do: its debug files may be
// needed after it has ended, when its mount namespace would be gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "src/base/descriptor.h"

namespace vesta::agent::naming {

// Owner: the folder stays reachable as long as this lives; so do the file systems that it lies on.
class ForeignRoot {
 public:
  // Null when the process has our own root and mounts, or is gone.
  // Cost:  five system calls.
  static std::unique_ptr<ForeignRoot> Hold(uint32_t pid);

  // A path that leads to the folder, also for a child process of ours.
  std::string path() const;

 private:
  explicit ForeignRoot(base::Descriptor folder) : folder_(std::move(folder)) {}
  base::Descriptor folder_;
};

}  // namespace vesta::agent::naming
