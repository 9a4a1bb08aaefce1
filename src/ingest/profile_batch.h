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
  // For a profile that does not say its own time: when it arrived.
  std::optional<int64_t> fallback_time_unix_ms = std::nullopt;
  // What the type of a profile that has nothing but samples/count is called, e.g. "cpu" for folded
  // stacks of which the pusher knows that; its values are counts.
  std::string counted_type = "samples";
};

// What became of the samples of a profile, and what of them a store has no place for.
// Shape: values == rows + values_empty, where values = samples * stored types.
struct BatchReport {
  uint64_t samples = 0;
  uint64_t rows = 0;          // in the batch
  uint64_t values_empty = 0;  // excluded: nothing was observed, value and count are both 0
  // Labels that were not kept: key -> samples that had one (span ids, numbers).
  std::map<std::string, uint64_t> labels_dropped;
};

struct ProfileBatch {
  store::Batch batch;
  BatchReport report;
};

// Shape: each sample type is a stored type, except that one of unit "count" just before a type of
//        another unit is the count of that type when it is called samples, contentions or objects,
//        or the type's name and _samples, or both names share what stands before their last '_'
//        (alloc_objects, alloc_space); and samples/count is that of the only other type. Other
//        types have no count type, and 1 as the count of each row; a profile of nothing but
//        samples/count is of options.counted_type.
//        pid, tid and thread go to the task, every other text to the series; of a label that comes
//        several times in a sample the first counts. The labels of src/store/row_labels.h give the
//        row's own time (unless options.time_unix_ms does), weight and count; what they cannot
//        mean is reported. Numbers other than pid and tid, and the ids span_id, trace_id and
//        profile_id, are not kept. Bytes of labels that are no UTF-8 become U+FFFD.
// Owner: the batch refers to `profile`, which must stay as it is while the batch is used.
// Cost:  label sets once each, then about 20 ns per row.
// Errors: InvalidInput naming what is wrong: a negative value (a difference cannot be stored), no
//         time, no sample types or one twice, what CheckBatch refuses. A batch that is returned
//         has passed it.
base::Result<ProfileBatch> MakeBatch(const profile::Profile& profile, const BatchOptions& options);

}  // namespace vesta::ingest
