// The labels of src/batch/row_labels.h, for those who speak of rows of a store.
#pragma once

#include "src/batch/row_labels.h"

namespace vesta::store {

using batch::kRowCount;
using batch::kRowTime;
using batch::kRowWeight;

}  // namespace vesta::store
