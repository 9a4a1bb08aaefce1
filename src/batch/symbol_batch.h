// Names that came after the samples: what stands at addresses of images that were sent before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/batch/batch.h"
#include "src/profile/profile.h"

namespace vesta::batch {

// Shape: each location has a mapping with a path or a build id, an address as in the samples that
//        were sent, and at least one line. Of two batches that name the same place the one that
//        came later holds; sending one again changes nothing.
struct SymbolBatch {
  std::optional<BatchId> id = std::nullopt;
  const profile::Profile* profile = nullptr;
  std::vector<profile::LocationId> locations;
};

}  // namespace vesta::batch
