// A dictionary with the names that came late: for the making of a volume's files.
#pragma once

#include <cstdint>

#include "src/base/result.h"
#include "src/store/index/dictionary.h"
#include "src/store/symbols/symbol_view.h"

namespace vesta::store::symbols {

// Whether any frame has another name by now than it came with.
// Cost: a look at each frame of a concerned image, until one has.
base::Result<bool> HasLateNames(const Names& names, uint32_t image_count, uint32_t frame_count,
                                uint64_t after, SymbolView* view);

// The same tables with the same ids, apart from the lines of frames; functions, callables and texts
// of late names come behind. Callables are numbered anew, so sums of functions must be made anew.
// Cost: memory of the dictionary once more.
base::Result<index::Dictionary> BakeNames(const index::Dictionary& from, uint64_t after,
                                          SymbolView* view);

}  // namespace vesta::store::symbols
