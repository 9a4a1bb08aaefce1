// Two walks of the same stack, side by side, and the counts of how they part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "bench/oracle/elfutils_walk.h"
#include "bench/oracle/our_walk.h"

namespace vesta::oracle {

enum class Verdict {
  kEqual,
  kTruncatedEqual,  // equal as far as the copied stack goes; ours may know that another one follows
  kOursLonger,      // equal as far as theirs goes
  kTheirsLonger,    // equal as far as ours goes
  kDiffer,
};

const char* NameOf(Verdict verdict);

struct Comparison {
  Verdict verdict = Verdict::kEqual;
  size_t frame = 0;  // the last one that is equal, from where the walks part; 0 when none is
};

Comparison Compare(const OurWalk& ours, const ElfutilsWalk& theirs);

// Why a walk of ours ended, and whether that says that the stack is whole.
const char* NameOf(abi_stop_reason reason);
bool IsComplete(abi_stop_reason reason);

struct CommCounts {
  uint64_t samples = 0;
  uint64_t equal = 0;
  uint64_t truncated_equal = 0;
  uint64_t guessed = 0;  // the walks part where elfutils has no rule and tries the frame pointer
  uint64_t different = 0;
  uint64_t complete = 0;                       // as we say
  std::map<std::string, uint64_t> kinds;       // of differences, guesses too
  std::map<std::string, uint64_t> incomplete;  // equal walks that are not complete as we say
  // Walks that are complete as we say, but whose outermost function is no known root.
  std::map<std::string, uint64_t> odd_ends;
};

struct Report {
  std::map<std::string, CommCounts> comms;
  uint64_t lost = 0;
  uint64_t without_user_stack = 0;

  // One line of JSON; "comms" has an entry per program.
  std::string Json() const;
  std::string Table() const;
};

}  // namespace vesta::oracle
