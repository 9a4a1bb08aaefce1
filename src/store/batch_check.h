// Whether a batch is one that a store may take. Every backend asks this first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/result.h"
#include "src/batch/limits.h"
#include "src/store/batch.h"

namespace vesta::store {

using batch::kBatchNameBytesMax;
using batch::kLabelNameBytesMax;
using batch::kLabelsMax;
using batch::kLabelValueBytesMax;
using batch::kThreadNameBytesMax;
using batch::kTimeUnixMsEnd;
using batch::kTypeNameBytesMax;

// What a set of labels must be: sorted by name, each name once, no empty name or value, UTF-8, and
// within the limits above.
// Errors: InvalidInput naming the label.
base::Result<void> CheckLabels(const Labels& labels);

// Errors: InvalidInput naming the field.
base::Result<void> CheckBatchId(const BatchId& id);

// Shape: indices are in range; labels as CheckLabels says; names are UTF-8 and within the limits
//        above; values and counts are >= 0 and not both 0; weights are > 0 and finite; times are in
//        [0, kTimeUnixMsEnd). The profile is taken as valid (Profile::Validate); it may be missing
//        when there are no rows. Retention and the clock are the store's own business.
// Cost:  one look at each row.
// Errors: InvalidInput naming the row and the field.
base::Result<void> CheckBatch(const Batch& batch);

}  // namespace vesta::store
