// A decoded profile -> the rows that a store takes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/store/batch.h"

namespace vesta::ingest {

struct BatchOptions {
  store::Labels
      labels;  // of the pusher: win over the samples' own; as ParsePusherLabels gives them
  std::optional<store::BatchId> id = std::nullopt;
  // When the rows were observed; nothing = the profile's own end (its time + its duration).
  std::optional<int64_t> time_unix_ms = std::nullopt;
  // For a profile that does not say its own time: the file's time stamp, or when it arrived.
  std::optional<int64_t> fallback_time_unix_ms = std::nullopt;
  // What a profile that has nothing but samples/count is called, e.g. "cpu" for folded stacks of
  // which the pusher knows that; its values are counts.
  std::string counted_type = "samples";
};

// What became of the samples of a profile, and what of them a store has no place for.
// Shape: values == rows + values_empty, where values = samples * stored types.
struct BatchReport {
  uint64_t samples = 0;
  uint64_t rows = 0;          // in the batch
  uint64_t values_empty = 0;  // excluded: value and count are both 0
  // Labels that were not kept: key -> samples that had one (span ids, numbers).
  std::map<std::string, uint64_t> labels_dropped;
};

struct ProfileBatch {
  store::Batch batch;
  BatchReport report;
};

// Shape: each sample type is a stored type, except that one of unit "count" just before a type of
//        another unit, with which it shares its beginning (alloc_objects, alloc_space), or which is
//        samples or contentions, is the count of that type. A lone type counts 1 per row; a lone
//        one of unit "count" counts itself.
//        pid, tid and thread go to the task, every other text to the series; of a label that comes
//        several times in a sample the first counts. Empty texts are no labels. Numbers other than
//        pid and tid, and the ids span_id, trace_id and profile_id, are not kept.
// Owner: the batch refers to `profile`, which must stay as it is while the batch is used.
// Cost:  label sets once each, then about 20 ns per row.
// Errors: InvalidInput naming what is wrong: a negative value (a difference cannot be stored), no
//         time, a label beyond the limits, or no sample types. The batch passes store::CheckBatch.
base::Result<ProfileBatch> MakeBatch(const profile::Profile& profile, const BatchOptions& options);

}  // namespace vesta::ingest
