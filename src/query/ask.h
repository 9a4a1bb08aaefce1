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
  // Monotonic; for the deadline and for the times of steps. Nothing = only the store looks at the
  // deadline, and steps have no times.
  std::function<decltype(store::ReadLimits::deadline)()> clock = nullptr;
};

// Errors: InvalidInput when the question cannot be asked of this store (unknown type, two units,
//         more steps than 11,000), listing what there is; NotFound when nothing matches a function;
//         those of the store: Exhausted beyond the limits, Unavailable when cancelled.
base::Result<Answer> Ask(store::Store& store, const Request& request,
                         const AskOptions& options = {});

}  // namespace vesta::query
