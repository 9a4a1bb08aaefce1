// A parcel as the payload of a spool record: docs/formats/spool.md has the bytes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace vesta::uplink {

// Views into the payload.
struct SpooledParcel {
  std::string_view id;
  std::string_view packed;  // zstd
};

// Shape: a prefix is what the record that it refers to was before it was packed; "" = none.
std::string EncodeSpooled(std::string_view id, std::string_view plain, std::string_view prefix,
                          int compression_level);

// Errors: Corrupt; Unsupported for another version.
base::Result<SpooledParcel> DecodeSpooled(std::string_view payload);

// Errors: as wire::Unzstd.
base::Result<std::string> UnpackSpooled(const SpooledParcel& parcel, std::string_view prefix);

}  // namespace vesta::uplink
