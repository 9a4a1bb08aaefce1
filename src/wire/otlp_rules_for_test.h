// The rules of OTLP Profiles that a message must keep: what open-telemetry/sig-profiling's
// profcheck looks for, written anew.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vesta::wire {

struct OtlpRules {
  bool shapes = true;   // values and times of samples
  bool doubles = true;  // strings and mappings
  bool orphans = true;  // entries that nobody refers to
};

// One line per fault, "sample: stack index"; empty when all rules are kept.
std::vector<std::string> OtlpFaults(std::string_view bytes, const OtlpRules& rules = {});

}  // namespace vesta::wire
