// Profile -> pprof bytes, for `go tool pprof` and everything else that reads pprof.
#pragma once

#include <string>

#include "src/profile/profile.h"

namespace vesta::wire {

struct PprofEncodeOptions {
  bool gzip = true;
  // 1 = fastest. Recordings are written while people wait; see pprof_bench for the price.
  int gzip_level = 1;
};

// Shape: protobuf message perftools.profiles.Profile, fields in the order of their numbers; ids
//        count from 1; header().main_mapping, when set, becomes the first mapping; the string table
//        is the profile's own. Equal profiles and options give equal bytes.
// Cost:  linear; the uncompressed form exists only 256 KiB at a time when gzip is on.
// Source: docs/formats/pprof.md.
std::string EncodePprof(const profile::Profile& profile, const PprofEncodeOptions& options = {});

}  // namespace vesta::wire
