#include "src/agent/aggregate/stack_trie.h"

namespace vesta::agent::aggregate {
namespace {

constexpr size_t kSlotsMin = 1024;

uint64_t Mix(uint64_t value) {
  // Finalizer of splitmix64 (public domain).
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9u;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

StackTrie::StackTrie() { Clear(); }

void StackTrie::Clear() {
  frames_.assign(1, profile::Frame{});
  parents_.assign(1, kRoot);
  slots_.assign(kSlotsMin, 0);
}

uint64_t StackTrie::Hash(NodeId parent, const profile::Frame& frame) {
  const uint64_t place = uint64_t{parent.value()} << 32 | frame.image.value();
  const uint64_t kind = static_cast<uint64_t>(frame.kind) << 1 | (frame.interrupted ? 1u : 0u);
  return Mix(Mix(frame.address + kind * 0x9e3779b97f4a7c15u) ^ place);
}

void StackTrie::Grow() {
  std::vector<uint32_t> larger(slots_.size() * 2, 0);
  const size_t mask = larger.size() - 1;
  for (uint32_t node = 1; node < frames_.size(); ++node) {
    size_t slot = Hash(parents_[node], frames_[node]) & mask;
    while (larger[slot] != 0) slot = (slot + 1) & mask;
    larger[slot] = node;
  }
  slots_ = std::move(larger);
}

NodeId StackTrie::Intern(std::span<const profile::Frame> leaf_first, size_t memory_bytes_max) {
  NodeId node = kRoot;
  for (size_t i = leaf_first.size(); i-- > 0;) {
    const profile::Frame& frame = leaf_first[i];
    const size_t mask = slots_.size() - 1;
    size_t slot = Hash(node, frame) & mask;
    while (slots_[slot] != 0 &&
           (parents_[slots_[slot]] != node || frames_[slots_[slot]] != frame)) {
      slot = (slot + 1) & mask;
    }
    if (slots_[slot] != 0) {
      node = NodeId(slots_[slot]);
      continue;
    }
    if (memory_bytes() >= memory_bytes_max) return kRoot;
    const auto added = static_cast<uint32_t>(frames_.size());
    frames_.push_back(frame);
    parents_.push_back(node);
    slots_[slot] = added;
    node = NodeId(added);
    if (frames_.size() * 2 > slots_.size()) Grow();
  }
  return node;
}

size_t StackTrie::memory_bytes() const {
  return frames_.capacity() * sizeof(profile::Frame) + parents_.capacity() * sizeof(NodeId) +
         slots_.capacity() * sizeof(uint32_t);
}

}  // namespace vesta::agent::aggregate
