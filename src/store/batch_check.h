// Whether a batch is one that a store may take. Every backend asks this first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/result.h"
#include "src/store/batch.h"

namespace vesta::store {

inline constexpr size_t kLabelsMax = 64;  // of one series
inline constexpr size_t kLabelNameBytesMax = 128;
inline constexpr size_t kLabelValueBytesMax = 2048;
inline constexpr size_t kTypeNameBytesMax = 128;  // each field of a ProfileType
inline constexpr size_t kThreadNameBytesMax = 2048;
inline constexpr size_t kBatchNameBytesMax = 256;  // agent and boot
// The year 10000, which dates of four digits cannot say. Times are >= 0.
inline constexpr int64_t kTimeUnixMsEnd = 253'402'300'800'000;

// What a set of labels must be: sorted by name, each name once, no empty name or value, UTF-8, and
// within the limits above.
// Errors: InvalidInput naming the label.
base::Result<void> CheckLabels(const Labels& labels);

// Shape: indices are in range; labels as CheckLabels says; names are UTF-8 and within the limits
//        above; values and counts are >= 0 and not both 0; weights are > 0 and finite; times are in
//        [0, kTimeUnixMsEnd). The profile is taken as valid (Profile::Validate); it may be missing
//        when there are no rows. Retention and the clock are the store's own business.
// Cost:  one look at each row.
// Errors: InvalidInput naming the row and the field.
base::Result<void> CheckBatch(const Batch& batch);

}  // namespace vesta::store
