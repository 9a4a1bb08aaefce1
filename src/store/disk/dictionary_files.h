// The dictionary of a closed volume as Parquet files: for readers that are not us, and to make a
// damaged volume.idx anew.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/store/duck/duck_db.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/node_order.h"

namespace vesta::store {

// Writes a file per table, each at folder/name + suffix; stacks under the numbers of `order`, if
// there is one. Units: returns the names.
base::Result<std::vector<std::string>> WriteDictionaryFiles(const duck::DuckDb& database,
                                                            const index::Dictionary& dictionary,
                                                            const std::string& folder,
                                                            std::string_view suffix,
                                                            const index::NodeOrder* order);

// The dictionary that was written, with the same ids.
// Errors: Corrupt, NotFound naming the file.
base::Result<index::Dictionary> ReadDictionaryFiles(const duck::DuckDb& database,
                                                    const std::string& folder);

}  // namespace vesta::store
