// What the kernel's walker knows of each process: its executable mappings, and for which
// incarnation they hold.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "src/agent/unwind/kernel_tables.h"
#include "src/agent/unwind/mapping_extents.h"
#include "src/base/result.h"

namespace vesta::agent::unwind {

struct PublisherBook {
  uint64_t published = 0;
  uint64_t refused_no_room = 0;   // the array of mappings was full
  uint64_t refused_too_many = 0;  // a quarter of the array is the most for one process
};

// Owner: agent thread.
class ProcessPublisher {
 public:
  explicit ProcessPublisher(KernelTables& kernel)
      : kernel_(kernel), extents_(static_cast<uint32_t>(kernel.mappings().size())) {}

  struct Identity {
    uint64_t start_boot_ns = 0;  // 0 = not known exactly: the count of execs decides
    uint32_t exec_id = 0;
  };

  // Replaces what the kernel knows of the process.
  // Shape:  mappings sorted by start, without overlaps.
  // Errors: Exhausted when there is no room, or the process would take more than a quarter of it;
  //         it is then unknown to the kernel, which sends its stacks.
  base::Result<void> Publish(uint32_t tgid, const Identity& identity,
                             std::span<const abi_mapping> mappings);
  void Remove(uint32_t tgid);
  bool Knows(uint32_t tgid, const Identity& identity) const;
  std::span<const abi_mapping> Mappings(uint32_t tgid) const;
  // Stops (or allows again) stack copies of a process for which they do not help: those because of
  // something unknown, and those because of rules that the kernel's walker cannot apply.
  void AllowStackCopies(uint32_t tgid, bool allowed) {
    SetFlag(tgid, ABI_PROCESS_NO_STACK_COPY, !allowed);
  }
  void AllowRuleCopies(uint32_t tgid, bool allowed) {
    SetFlag(tgid, ABI_PROCESS_NO_RULE_COPY, !allowed);
  }
  // Runs of mappings that were given back before the last call may be used again. Two calls must be
  // further apart than a walk in the kernel can last.
  void EndGracePeriod() { extents_.EndGracePeriod(); }

  const PublisherBook& book() const { return book_; }

 private:
  void SetFlag(uint32_t tgid, uint32_t flag, bool set);

  KernelTables& kernel_;
  MappingExtents extents_;
  std::unordered_map<uint32_t, abi_process> processes_;
  PublisherBook book_;
};

}  // namespace vesta::agent::unwind
