// How large the parts of a batch may be: what makes one sees to it, what takes one checks it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vesta::batch {

inline constexpr size_t kLabelsMax = 64;  // of one series
inline constexpr size_t kLabelNameBytesMax = 128;
inline constexpr size_t kLabelValueBytesMax = 2048;
inline constexpr size_t kTypeNameBytesMax = 128;  // each field of a ProfileType
inline constexpr size_t kThreadNameBytesMax = 2048;
inline constexpr size_t kBatchNameBytesMax = 256;  // agent and boot
// The year 10000, which dates of four digits cannot say. Times are >= 0.
inline constexpr int64_t kTimeUnixMsEnd = 253'402'300'800'000;

}  // namespace vesta::batch
