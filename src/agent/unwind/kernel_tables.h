// What the agent tells the kernel's walker: processes, their mappings, and unwind tables.
// An interface, so that everything above is tested without a kernel.
#pragma once

#include <cstdint>
#include <span>

#include "abi/unwind.h"
#include "src/base/result.h"

namespace vesta::agent::unwind {

class KernelTables {
 public:
  virtual ~KernelTables() = default;

  // How many slots for tables there are.
  virtual uint32_t table_slots() const = 0;
  // Puts a table into a slot; the walker sees it after Publish().
  // Shape:  words as in abi/unwind.h, whole blocks.
  // Errors: Exhausted when the kernel has no memory for it.
  virtual base::Result<void> StoreTable(uint32_t slot, std::span<const uint32_t> words) = 0;
  virtual void RemoveTable(uint32_t slot) = 0;
  // Makes stored tables visible, all in one step (each step waits for an RCU grace period).
  virtual base::Result<void> Publish() = 0;
  // A stored table for reading on the host; empty when the slot is. Valid until RemoveTable.
  virtual std::span<const uint32_t> Table(uint32_t slot) = 0;

  // The array that extents of mappings live in, shared with the walker.
  virtual std::span<abi_mapping> mappings() = 0;
  virtual base::Result<void> SetProcess(uint32_t tgid, const abi_process& process) = 0;
  virtual void RemoveProcess(uint32_t tgid) = 0;
};

}  // namespace vesta::agent::unwind
