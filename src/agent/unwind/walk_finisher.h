// Finishes a walk that the kernel had to give up, from the copy of the stack that it sent.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "abi/sample.h"
#include "abi/unwind.h"
#include "src/agent/unwind/kernel_tables.h"

namespace vesta::agent::unwind {

struct FinishedWalk {
  std::vector<abi_frame> frames;  // leaf first, the kernel's part included
  abi_stop_reason reason = ABI_STOP_ROOT;
};

class WalkFinisher {
 public:
  struct Callbacks {
    // The process's mappings as known now.
    std::function<std::span<const abi_mapping>()> mappings;
    // Learns the mappings anew; false when that was done already.
    std::function<bool()> refresh_mappings;
    // Loads a table; false when it cannot be had.
    std::function<bool(uint32_t slot)> load_table;
  };

  explicit WalkFinisher(KernelTables& kernel) : kernel_(kernel) {}

  // Shape: `user` are the kernel's frames; the last one is walked again from `resume`.
  // Cost:  as the kernel's walk, plus whatever the callbacks load.
  FinishedWalk Finish(std::span<const abi_frame> user, const abi_resume& resume,
                      std::span<const std::byte> stack, const Callbacks& callbacks) const;

 private:
  KernelTables& kernel_;
};

}  // namespace vesta::agent::unwind
