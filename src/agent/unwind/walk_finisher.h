// Finishes a walk that the kernel had to give up, from the copy of the stack that it sent.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "abi/sample.h"
#include "abi/unwind.h"
#include "src/agent/unwind/frame_finder_cache.h"
#include "src/agent/unwind/kernel_tables.h"

namespace vesta::agent::unwind {

struct FinishedWalk {
  std::vector<abi_frame> frames;  // leaf first, the kernel's part included
  abi_stop_reason reason = ABI_STOP_ROOT;
  bool used_all_registers = false;  // tables did not do, or had no room: the files' own rules
};

// Where a guess led out of all mappings it was wrong: then the walk ended one frame before, for
// want of a rule. Others stay as they are.
std::span<const abi_frame> WithoutWrongGuess(std::span<const abi_frame> user,
                                             abi_stop_reason& reason);

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

  WalkFinisher(KernelTables& kernel, FrameFinderCache& finders)
      : kernel_(kernel), finders_(finders) {}

  // Shape: `user` are the kernel's frames; those from resume.frame_index on are walked again.
  // Cost:  as the kernel's walk, plus whatever the callbacks load; where a rule needs all
  // registers,
  //        see DwarfWalkStep.
  FinishedWalk Finish(std::span<const abi_frame> user, const abi_resume& resume,
                      std::span<const std::byte> stack, const Callbacks& callbacks) const;

 private:
  enum class Steps { kByTables, kWithAllRegisters };
  FinishedWalk Walk(Steps steps, std::span<const abi_frame> user, const abi_resume& resume,
                    std::span<const std::byte> stack, const Callbacks& callbacks) const;

  KernelTables& kernel_;
  FrameFinderCache& finders_;
};

}  // namespace vesta::agent::unwind
