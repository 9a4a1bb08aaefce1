// Whole files: each rule of an unwind table, side by side with what elfutils reads.
#pragma once

#include <cstdint>

#include "src/base/result.h"
#include "test/support/table_oracle.h"

namespace vesta::oracle {

struct FileTables {
  test::TableComparison comparison;
  uint64_t function_count = 0;  // in the file; of them every stride-th was compared
  uint64_t damaged_count = 0;   // entries that we could not read
};

// Errors: of opening and parsing the file, and of building the table; Unsupported when elfutils
// does
//         not take it.
base::Result<FileTables> CompareTablesOf(const char* path, uint64_t functions_max);

}  // namespace vesta::oracle
