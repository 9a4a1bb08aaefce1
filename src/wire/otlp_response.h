// What a server answers to OTLP Profiles: ExportProfilesServiceResponse.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace vesta::wire {

// Shape: nothing rejected and no message = all was taken; a message without a rejection is a
//        warning.
struct OtlpResponse {
  int64_t rejected = 0;  // the field is called rejected_profiles; we count samples
  std::string message;
  friend bool operator==(const OtlpResponse&, const OtlpResponse&) = default;
};

// Shape: an empty message when all was taken.
std::string EncodeOtlpResponse(const OtlpResponse& response);

// Errors: Corrupt for what is no such message.
base::Result<OtlpResponse> DecodeOtlpResponse(std::string_view bytes);

}  // namespace vesta::wire
