// Answers a question from a store.
#pragma once

#include <cstdint>
#include <functional>

#include "src/base/result.h"
#include "src/query/answer.h"
#include "src/query/request.h"
#include "src/store/store.h"

namespace vesta::query {

struct AskOptions {
  store::ReadLimits limits = {};
  // Monotonic nanoseconds, for the times of steps; nothing = they have none.
  std::function<int64_t()> clock_ns = nullptr;
};

// What is not there gives an empty answer whose notes say what there is.
// Errors: InvalidInput when the question cannot be asked of what there is (several types and none
//         named, more steps than 11,000), listing it; those of the store: Exhausted beyond the
//         limits, Unavailable when cancelled.
base::Result<Answer> Ask(store::Store& store, const Request& request,
                         const AskOptions& options = {});

}  // namespace vesta::query
