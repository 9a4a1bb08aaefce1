// KernelTables in plain memory, for tests: what the kernel would hold, open to look at.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "src/agent/unwind/kernel_tables.h"

namespace vesta::agent::unwind {

class FakeKernelTables : public KernelTables {
 public:
  explicit FakeKernelTables(uint32_t slots = 64, uint32_t mappings_max = 4096)
      : slots_(slots), mappings_(mappings_max) {}

  uint32_t table_slots() const override { return slots_; }
  base::Result<void> StoreTable(uint32_t slot, std::span<const uint32_t> words) override {
    stored[slot].assign(words.begin(), words.end());
    return {};
  }
  void RemoveTable(uint32_t slot) override { stored.erase(slot); }
  base::Result<void> Publish() override {
    ++publish_count;
    return {};
  }
  std::span<const uint32_t> Table(uint32_t slot) override {
    const auto table = stored.find(slot);
    if (table == stored.end()) return {};
    return table->second;
  }
  std::span<abi_mapping> mappings() override { return mappings_; }
  base::Result<void> SetProcess(uint32_t tgid, const abi_process& process) override {
    processes[tgid] = process;
    return {};
  }
  void RemoveProcess(uint32_t tgid) override { processes.erase(tgid); }

  std::map<uint32_t, std::vector<uint32_t>> stored;
  std::map<uint32_t, abi_process> processes;
  int publish_count = 0;

 private:
  uint32_t slots_;
  std::vector<abi_mapping> mappings_;
};

}  // namespace vesta::agent::unwind
