// A pushed profile, from the body of a request into the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/server/api.h"
#include "src/store/batch.h"

namespace vesta::server {

// As docs/api.md says of POST /api/v1/profiles.
Response AnswerPush(store::Store& store, const ApiOptions& options, const Request& request,
                    const AnswerContext& context);

// The labels of the parameters "label.NAME" and of the header Vesta-Labels together.
// Errors: InvalidInput.
base::Result<store::Labels> PushedLabels(const Request& request);

// "agent/boot/sequence". Errors: InvalidInput.
base::Result<store::BatchId> ParseBatchId(std::string_view text);

// The profile's bytes without what Content-Encoding and the file itself pack it in, at most three
// layers. They are in the body or in `storage`.
// Errors: Unsupported for another encoding; Corrupt; Exhausted beyond plain_bytes_max; Unavailable
//         when all requests together have no room for it now.
// prefix: what the first layer, if that is zstd, was packed against.
base::Result<std::string_view> UnpackBody(const Request& request, uint64_t plain_bytes_max,
                                          BudgetShare* share, std::string& storage,
                                          std::string_view prefix = {});

inline constexpr const char* kProtobuf = "application/x-protobuf";
// Whether Content-Type says so, or nothing.
bool IsProtobuf(const Request& request);

// Answers that all pushes share.
Response RefusePush(const base::Error& error, int status_of_invalid);
Response RetryPush(const std::string& message, const char* seconds);
Response BodyTooLarge(uint64_t body_bytes_max);
base::Error NoRoomForPush();

}  // namespace vesta::server
