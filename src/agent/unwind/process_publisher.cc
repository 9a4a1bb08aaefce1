#include "src/agent/unwind/process_publisher.h"

#include <algorithm>
#include <string>

namespace vesta::agent::unwind {

base::Result<void> ProcessPublisher::Publish(uint32_t tgid, const Identity& identity,
                                             std::span<const abi_mapping> mappings) {
  const auto count = static_cast<uint32_t>(mappings.size());
  const bool is_too_many = count > kernel_.mappings().size() / 4;
  const auto first = is_too_many ? std::nullopt : extents_.Allocate(count);
  if (!first) {
    ++(is_too_many ? book_.refused_too_many : book_.refused_no_room);
    Remove(tgid);
    return base::Error(base::ErrorCode::kExhausted, "no room for the " + std::to_string(count) +
                                                        " mappings of process " +
                                                        std::to_string(tgid));
  }
  std::copy(mappings.begin(), mappings.end(), kernel_.mappings().begin() + *first);
  abi_process process{};
  process.start_boot_ns = identity.start_boot_ns;
  process.exec_id = identity.exec_id;
  process.mapping_first = *first;
  process.mapping_count = count;
  // The new run is whole before anybody is pointed at it.
  const auto set = kernel_.SetProcess(tgid, process);
  if (!set.ok()) {
    extents_.Free(*first, count);
    return set.error();
  }
  const auto [entry, is_new] = processes_.try_emplace(tgid, process);
  if (!is_new) {
    extents_.Free(entry->second.mapping_first, entry->second.mapping_count);
    entry->second = process;
  }
  ++book_.published;
  return {};
}

void ProcessPublisher::Remove(uint32_t tgid) {
  const auto entry = processes_.find(tgid);
  if (entry == processes_.end()) return;
  kernel_.RemoveProcess(tgid);
  extents_.Free(entry->second.mapping_first, entry->second.mapping_count);
  processes_.erase(entry);
}

bool ProcessPublisher::Knows(uint32_t tgid, const Identity& identity) const {
  const auto entry = processes_.find(tgid);
  if (entry == processes_.end() || entry->second.exec_id != identity.exec_id) return false;
  const uint64_t known_start_ns = entry->second.start_boot_ns;
  return known_start_ns == 0 || known_start_ns == identity.start_boot_ns;
}

std::span<const abi_mapping> ProcessPublisher::Mappings(uint32_t tgid) const {
  const auto entry = processes_.find(tgid);
  if (entry == processes_.end()) return {};
  return kernel_.mappings().subspan(entry->second.mapping_first, entry->second.mapping_count);
}

void ProcessPublisher::SetFlag(uint32_t tgid, uint32_t flag, bool set) {
  const auto entry = processes_.find(tgid);
  if (entry == processes_.end()) return;
  const uint32_t flags = set ? entry->second.flags | flag : entry->second.flags & ~flag;
  if (entry->second.flags == flags) return;
  entry->second.flags = flags;
  // Should the kernel refuse, copies go on: a matter of cost only.
  static_cast<void>(kernel_.SetProcess(tgid, entry->second).ok());
}

}  // namespace vesta::agent::unwind
