// Writes index files: seg-000N.idx (roll-ups) and volume.idx (roll-ups and the dictionary).
// docs/formats/store.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/result.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/node_order.h"
#include "src/store/index/rollup.h"

namespace vesta::store::index {

// Usage: AddRollup per series in order of (type, series), AddDictionary (volume.idx only), Finish.
// Owner: one thread. The bytes grow in memory: at most a few tens of MB for a day.
class IndexWriter {
 public:
  IndexWriter();
  ~IndexWriter();

  // Errors: InvalidInput when it is not behind the one before.
  base::Result<void> AddRollup(const SeriesRollup& rollup);
  // Nodes under the numbers of `order`, which the roll-ups must have, too; nothing = as they are.
  void AddDictionary(const Dictionary& dictionary, const NodeOrder* order = nullptr);
  std::vector<std::byte> Finish();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace vesta::store::index
