// Which generated function lay at an address, and when: code moves, and its place is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vesta::agent::runtime {

// A part of a function's code. Addresses are those of the process, [start, end).
struct CodeRange {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t from_mono_ns = 0;  // when it came into being; 0 = it was always there
  uint64_t function = 0;      // the caller's number for it
  uint64_t origin = 0;        // where the whole function starts
};

// What held for one address from a time until the next one of its eras.
struct CodeEra {
  uint64_t from_mono_ns = 0;
  const CodeRange* range = nullptr;  // null = no known function; valid until the next change
};

// Shape:  a later range replaces what it overlaps of earlier ones. What was replaced is kept when
//         it still held after `since_mono_ns`.
// Owner:  one thread.
// Cost:   40 bytes per range that holds, 48 per one that was replaced. Add copies all that hold.
class CodeHistory {
 public:
  // ranges_max bounds both what holds and what was replaced.
  CodeHistory(size_t ranges_max, uint64_t since_mono_ns)
      : ranges_max_(ranges_max), since_mono_ns_(since_mono_ns) {}

  // In the order in which they came into being.
  void Add(std::span<const CodeRange> added);
  // All that holds now ends.
  void EndAll(uint64_t time_mono_ns);

  // The range that covers the address now; null when there is none.
  const CodeRange* Find(uint64_t address) const;

  // Shape: addresses sorted; one list per address, by time; empty = never covered.
  std::vector<std::vector<CodeEra>> Eras(std::span<const uint64_t> addresses) const;

  // Forgets of what holds the oldest that cover none of the sorted addresses, down to three
  // quarters of ranges_max, when there is more than that limit.
  void Trim(std::span<const uint64_t> wanted);

  // Whether something that held, or did in an interesting time, was forgotten for lack of room.
  bool has_forgotten() const { return has_forgotten_; }
  size_t range_count() const { return now_.size(); }
  size_t memory_bytes() const {
    return now_.capacity() * sizeof(CodeRange) + past_.capacity() * sizeof(Past);
  }
  // Calls `use` with the number of each function that is still known.
  template <typename Use>
  void ForEachFunction(Use use) const {
    for (const CodeRange& range : now_) use(range.function);
    for (const Past& past : past_) use(past.range.function);
  }
  // Forgets the past of functions for which `is_known` is false.
  template <typename IsKnown>
  void ForgetPast(IsKnown is_known) {
    std::erase_if(past_, [&](const Past& past) { return !is_known(past.range.function); });
  }

 private:
  using Ranges = std::vector<CodeRange>;  // sorted, apart from each other
  struct Past {
    CodeRange range;
    uint64_t until_mono_ns = 0;
  };

  Ranges Overlay(const Ranges& below, const Ranges& above);
  Ranges Resolve(std::span<const CodeRange> in_order);
  void Remember(const CodeRange& range, uint64_t until_mono_ns);

  size_t ranges_max_;
  uint64_t since_mono_ns_;
  Ranges now_;
  std::vector<Past> past_;
  bool has_forgotten_ = false;
};

}  // namespace vesta::agent::runtime
