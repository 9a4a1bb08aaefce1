#include "src/agent/source/kernel_maps.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "src/base/check.h"

namespace vesta::agent::source {
namespace {

size_t RoundUpToPages(size_t bytes) {
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace

base::Result<std::unique_ptr<KernelMaps>> KernelMaps::Open(const Descriptors& maps,
                                                           uint32_t mappings_max,
                                                           uint32_t table_slots) {
  std::unique_ptr<KernelMaps> opened(new KernelMaps(maps, table_slots));
  const size_t mapped_bytes = RoundUpToPages(mappings_max * sizeof(abi_mapping));
  void* pages = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, maps.mappings, 0);
  if (pages == MAP_FAILED) return base::ErrnoError("mapping the table of mappings", errno);
  opened->mappings_ = {static_cast<abi_mapping*>(pages), mappings_max};
  opened->mappings_mapped_bytes_ = mapped_bytes;
  return opened;
}

KernelMaps::~KernelMaps() {
  for (auto& [slot, table] : tables_) DropTable(table);
  if (!mappings_.empty()) ::munmap(mappings_.data(), mappings_mapped_bytes_);
}

base::Result<void> KernelMaps::StoreTable(uint32_t slot, std::span<const uint32_t> words) {
  CHECK(words.size() % ABI_TABLE_BLOCK_WORDS == 0 && !words.empty());
  CHECK(slot < table_slots_);
  RemoveTable(slot);
  LIBBPF_OPTS(bpf_map_create_opts, create_options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
  StoredTable table;
  table.size_bytes = words.size_bytes();
  table.fd =
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_table", sizeof(uint32_t), ABI_TABLE_BLOCK_BYTES,
                     static_cast<uint32_t>(words.size() / ABI_TABLE_BLOCK_WORDS), &create_options);
  if (table.fd < 0) return base::ErrnoError("making an unwind table in the kernel", errno);
  table.pages = ::mmap(nullptr, RoundUpToPages(table.size_bytes), PROT_READ | PROT_WRITE,
                       MAP_SHARED, table.fd, 0);
  if (table.pages == MAP_FAILED) {
    const int errno_value = errno;
    ::close(table.fd);
    return base::ErrnoError("mapping an unwind table", errno_value);
  }
  std::memcpy(table.pages, words.data(), table.size_bytes);
  table_bytes_ += table.size_bytes;
  tables_.emplace(slot, table);
  unpublished_slots_.push_back(slot);
  return {};
}

base::Result<void> KernelMaps::Publish() {
  if (unpublished_slots_.empty()) return {};
  std::vector<uint32_t> slots;
  std::vector<int> fds;
  for (const uint32_t slot : unpublished_slots_) {
    const auto table = tables_.find(slot);
    if (table == tables_.end() || table->second.fd < 0) continue;
    slots.push_back(slot);
    fds.push_back(table->second.fd);
  }
  unpublished_slots_.clear();
  auto count = static_cast<uint32_t>(slots.size());
  LIBBPF_OPTS(bpf_map_batch_opts, batch_options);
  base::Result<void> result;
  // Kernels before 5.14 have no batches for this kind of map.
  if (bpf_map_update_batch(maps_.tables, slots.data(), fds.data(), &count, &batch_options) != 0) {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (bpf_map_update_elem(maps_.tables, &slots[i], &fds[i], BPF_ANY) != 0 && result.ok()) {
        result = base::ErrnoError("publishing an unwind table", errno);
      }
    }
  }
  // The outer map and our mapping keep a table alive; descriptors are scarce.
  for (const uint32_t slot : slots) {
    StoredTable& table = tables_.at(slot);
    ::close(table.fd);
    table.fd = -1;
  }
  return result;
}

void KernelMaps::DropTable(StoredTable& table) {
  if (table.fd >= 0) ::close(table.fd);
  if (table.pages != nullptr) ::munmap(table.pages, RoundUpToPages(table.size_bytes));
  table_bytes_ -= table.size_bytes;
  table = {};
}

void KernelMaps::RemoveTable(uint32_t slot) {
  const auto table = tables_.find(slot);
  if (table == tables_.end()) return;
  bpf_map_delete_elem(maps_.tables, &slot);
  DropTable(table->second);
  tables_.erase(table);
}

std::span<const uint32_t> KernelMaps::Table(uint32_t slot) {
  const auto table = tables_.find(slot);
  if (table == tables_.end()) return {};
  return {static_cast<const uint32_t*>(table->second.pages),
          table->second.size_bytes / sizeof(uint32_t)};
}

base::Result<void> KernelMaps::SetProcess(uint32_t tgid, const abi_process& process) {
  if (bpf_map_update_elem(maps_.processes, &tgid, &process, BPF_ANY) != 0) {
    return base::ErrnoError("telling the kernel of process " + std::to_string(tgid), errno);
  }
  return {};
}

void KernelMaps::RemoveProcess(uint32_t tgid) { bpf_map_delete_elem(maps_.processes, &tgid); }

uint64_t KernelMaps::memory_bytes() const {
  return mappings_mapped_bytes_ + table_slots_ * sizeof(void*) + table_bytes_;
}

}  // namespace vesta::agent::source
