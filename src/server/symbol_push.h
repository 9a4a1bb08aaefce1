// Names that come late over HTTP, into the store.
#pragma once

#include "src/server/api.h"
#include "src/server/message.h"
#include "src/server/metrics.h"
#include "src/store/store.h"

namespace vesta::server {

// As docs/api.md says of POST /api/v1/symbols.
Response AnswerSymbols(store::Store& store, const ApiOptions& options, Metrics& metrics,
                       const Request& request, const AnswerContext& context);

}  // namespace vesta::server
