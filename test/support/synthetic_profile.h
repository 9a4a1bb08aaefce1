// Seeded profiles that use every feature of profile::Profile, and a text of one to compare.
#pragma once

#include <cstdint>
#include <string>

#include "src/profile/profile.h"

namespace vesta::test {

struct SyntheticShape {
  uint64_t seed = 1;
  size_t samples = 20;
  size_t functions = 10;
  size_t locations = 30;
  size_t mappings = 4;
  size_t depth_max = 8;       // frames per stack: 0..depth_max
  bool odd_content = true;    // duplicates, negative values, names with ';', quotes, no mapping ...
  size_t name_bytes_min = 0;  // names are padded to this length
};

// Equal shapes give equal profiles.
profile::Profile SyntheticProfile(const SyntheticShape& shape);

// Every fact of a profile but the numbers of its ids, one per line.
std::string DumpProfile(const profile::Profile& profile);

}  // namespace vesta::test
