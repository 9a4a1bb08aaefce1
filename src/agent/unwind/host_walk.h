// The walker's steps on the host: the same text that runs in the kernel, over a copied stack. It
// finishes walks for which the kernel lacked a process, a mapping or a table. The agent walks as
// its own machine does; tests also as another one.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "abi/architecture.h"
#include "abi/sample.h"
#include "abi/unwind.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-compare"

namespace vesta::agent::unwind {

// Shape: `stack` are the bytes from address stack_address upwards; everything else is unreadable.
//        `mappings` is the process's extent, sorted. `table` gives the words of a slot, or nothing.
// Owner: one walk; the spans must outlive it.
template <int kArchitecture>
class BasicHostWalk {
 public:
  using TableOf = std::function<std::span<const uint32_t>(uint32_t slot)>;

  BasicHostWalk(std::span<const std::byte> stack, uint64_t stack_address,
                std::span<const abi_mapping> mappings, TableOf table)
      : stack_(stack),
        stack_address_(stack_address),
        mappings_(mappings),
        table_(std::move(table)) {}

  struct walk_block;
  struct TableView {
    std::span<const uint32_t> words;
    bool operator!() const { return words.empty(); }
  };
  using walk_table_t = TableView;

  long walk_read_user(void* target, __u32 size_bytes, __u64 address) const {
    if (address < stack_address_) return -1;
    const uint64_t offset = address - stack_address_;
    if (offset > stack_.size() || size_bytes > stack_.size() - offset) return -1;
    std::memcpy(target, stack_.data() + offset, size_bytes);
    return 0;
  }
  const abi_mapping* walk_mapping(__u32 index) const {
    return index < mappings_.size() ? &mappings_[index] : nullptr;
  }
  TableView walk_table(__u32 slot) const { return {table_(slot)}; }
  const walk_block* walk_table_block(TableView table, __u32 block) const {
    const size_t first = size_t{block} * ABI_TABLE_BLOCK_WORDS;
    if (first + ABI_TABLE_BLOCK_WORDS > table.words.size()) return nullptr;
    return reinterpret_cast<const walk_block*>(table.words.data() + first);
  }

#define WALK_INLINE inline
#define WALK_ARCHITECTURE kArchitecture
#include "bpf/unwind/walk.bpf.h"
#undef WALK_ARCHITECTURE
#undef WALK_INLINE

 private:
  std::span<const std::byte> stack_;
  uint64_t stack_address_;
  std::span<const abi_mapping> mappings_;
  TableOf table_;
};

using HostWalk = BasicHostWalk<ABI_ARCHITECTURE>;

}  // namespace vesta::agent::unwind

#pragma GCC diagnostic pop
