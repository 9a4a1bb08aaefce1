// Raw rows as profiles, so that reading them in again gives a store with the same answers.
#pragma once

#include <cstdint>
#include <functional>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/query/ask.h"
#include "src/store/batch.h"

namespace vesta::query {

// Shape: of one series and type. Sample types: the count where it has a name, then the value. Each
//        sample is a row, with the labels of src/store/row_labels.h, those of its task (pid, tid,
//        thread) and, as texts, those of its series.
struct ExportPart {
  store::ProfileType type;
  store::Labels labels;
  profile::Profile profile;
};

// Shape: parts of at most 100,000 rows; a series may have several.
// Cost: memory for the rows of one block.
// Errors: as Ask.
base::Result<About> ExportRows(store::Store& store, const Request& request,
                               const AskOptions& options,
                               const std::function<base::Result<void>(ExportPart)>& sink);

}  // namespace vesta::query
