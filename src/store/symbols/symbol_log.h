// The log of late names: how its records lie in the file, and what of a file can be read. Pure.
// docs/formats/store.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/store/symbols/fact_codec.h"

namespace vesta::store::symbols {

// What a log begins with.
std::string LogHeader();
// A block as a record.
std::string LogRecord(std::string_view block);

// Shape: good_bytes end where the last record ends before the first that cannot be read. What
//        comes behind was being written when the machine went down, unless is_damaged: then records
//        behind it can be read, and are here.
struct LogContent {
  std::vector<std::shared_ptr<const FactBlock>> blocks;
  size_t good_bytes = 0;
  bool is_damaged = false;
};
// Errors: Corrupt for a file that is none, Unsupported for a version that is not ours.
base::Result<LogContent> ReadLog(std::string_view bytes);

}  // namespace vesta::store::symbols
