// The maps of the loaded programs that tell the walker of processes and their code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/agent/unwind/kernel_tables.h"
#include "src/base/result.h"

namespace vesta::agent::source {

// Shape:  each unwind table is a map of its own inside an outer map, by slot; mappings are one
//         array in shared memory; processes are a hash by tgid.
// Owner:  one thread. The descriptors stay their owner's, who keeps them open longer than this.
// Cost:   storing a table is two system calls and a copy; Publish is one system call for all.
class KernelMaps final : public unwind::KernelTables {
 public:
  struct Descriptors {
    int mappings = -1;
    int tables = -1;
    int processes = -1;
  };

  // Shape:  mappings_max and table_slots are the sizes that the maps were made with.
  // Errors: the cause when the mappings cannot be shared.
  static base::Result<std::unique_ptr<KernelMaps>> Open(const Descriptors& maps,
                                                        uint32_t mappings_max,
                                                        uint32_t table_slots);
  ~KernelMaps() override;
  KernelMaps(const KernelMaps&) = delete;
  KernelMaps& operator=(const KernelMaps&) = delete;

  uint32_t table_slots() const override { return table_slots_; }
  base::Result<void> StoreTable(uint32_t slot, std::span<const uint32_t> words) override;
  void RemoveTable(uint32_t slot) override;
  base::Result<void> Publish() override;
  std::span<const uint32_t> Table(uint32_t slot) override;
  std::span<abi_mapping> mappings() override { return mappings_; }
  base::Result<void> SetProcess(uint32_t tgid, const abi_process& process) override;
  void RemoveProcess(uint32_t tgid) override;

  // Bytes that the kernel holds for mappings and tables.
  uint64_t memory_bytes() const;

 private:
  struct StoredTable {
    int fd = -1;  // open until it is published
    void* pages = nullptr;
    size_t size_bytes = 0;
  };

  KernelMaps(const Descriptors& maps, uint32_t table_slots)
      : maps_(maps), table_slots_(table_slots) {}
  void DropTable(StoredTable& table);

  Descriptors maps_;
  uint32_t table_slots_;
  std::span<abi_mapping> mappings_;
  size_t mappings_mapped_bytes_ = 0;
  std::unordered_map<uint32_t, StoredTable> tables_;  // by slot
  std::vector<uint32_t> unpublished_slots_;
  uint64_t table_bytes_ = 0;
};

}  // namespace vesta::agent::source
