// Which rows of a batch a store has already: for taking back what it once gave out.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/result.h"
#include "src/store/store.h"

namespace vesta::query {

// By row of the batch. A row is there when the store has one of the same labels, type, task, time,
// value, count, weight and stack; of several equal ones as many are there as it has. A frame with
// an address in an image is that address, since its name may have come later. Cost:   reads the
// rows of the batch's series between its first and its last row. Errors: as Store::Rows.
base::Result<std::vector<bool>> FindStoredRows(store::Store& store, const store::ReadLimits& limits,
                                               const store::Batch& batch);

}  // namespace vesta::query
