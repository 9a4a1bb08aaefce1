// OTLP Profiles over HTTP, from our agents and from anybody, into the store.
#pragma once

#include "src/server/api.h"
#include "src/server/message.h"
#include "src/server/senders.h"
#include "src/store/store.h"

namespace vesta::server {

// As docs/api.md says of POST /v1development/profiles.
Response AnswerOtlp(store::Store& store, const ApiOptions& options, Senders& senders,
                    const Request& request, const AnswerContext& context);

}  // namespace vesta::server
