// Why walks end, in words: the list of abi/sample.h for people and for labels.
#pragma once

#include "abi/sample.h"

namespace vesta::agent {

struct StopReasonInfo {
  const char* name;  // lower case, as in the book and in the label "incomplete"
  bool is_complete;  // the stack reached its root
};

// reason < ABI_STOP_COUNT.
const StopReasonInfo& InfoOf(abi_stop_reason reason);

}  // namespace vesta::agent
