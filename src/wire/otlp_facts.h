// What travels with a batch in OTLP and is no sample: who sent it, by which clock, and its book.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vesta::wire {

// The same moment by two clocks.
struct ClockPair {
  uint64_t monotonic_ns = 0;  // CLOCK_MONOTONIC of the agent's machine
  int64_t unix_ns = 0;
  uint64_t error_ns = 0;  // how far apart the two were read at most
  friend bool operator==(const ClockPair&, const ClockPair&) = default;
};

// Shape: "" = not said. Of a foreign sender scope_name and scope_version are those of its first
//        scope; ours is "vesta".
struct OtlpFacts {
  std::string scope_name = "vesta";
  std::string scope_version = "";
  std::optional<ClockPair> clock = std::nullopt;
  std::string book = "";  // the agent's book (src/book), as JSON
  friend bool operator==(const OtlpFacts&, const OtlpFacts&) = default;
};

}  // namespace vesta::wire
