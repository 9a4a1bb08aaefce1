// Which functions a profile's values went to: the table of `vesta top`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/profile/profile.h"

namespace vesta::flame {

struct TopRow {
  std::string name;   // "" = code without a name, one row per binary
  std::string image;  // the binary's short name; "" = unknown
  std::string file;   // path of the source where the binary is unknown; "" = unknown, too
  int64_t self = 0;   // values of samples whose innermost frame it is
  int64_t total = 0;  // values of samples that it is in, each sample once, recursion or not
  size_t unnamed_address_count = 0;  // addresses behind a row without a name
};

enum class TopOrder : uint8_t { kSelf, kTotal };

// Units: values in `unit`; sum adds magnitudes, so that percentages make sense for differences too.
struct TopTable {
  std::string type;  // "cpu"
  std::string unit;  // "nanoseconds"
  int64_t sum = 0;
  int64_t sample_count = 0;  // the profile's own count where it has one, else its rows
  int64_t duration_ns = 0;   // 0 = unknown
  int64_t time_unix_ns = 0;  // 0 = unknown
  uint32_t cpu_count = 0;    // of the machine; 0 = unknown
  std::vector<TopRow> rows;
};

// Shape: a row per (function name, binary's path), so that two programs' main stay apart, or per
//        (name, source file) where no binary is known; order: self (or total), then the other,
//        largest first, then name, binary, file. Rows where both are 0 are left out. Inlined
//        functions count as functions.
// Units: sample_type < number of sample types; 0 is fine for a profile without any.
// Cost:  samples + frames of distinct stacks.
// Source: flat and cumulative as `go tool pprof -top` counts them.
TopTable MakeTopTable(const profile::Profile& profile, size_t sample_type,
                      TopOrder order = TopOrder::kSelf);

}  // namespace vesta::flame
