// OTLP Profiles, of us and of others, of every layout since v1.8 -> batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/batch/batch.h"
#include "src/batch/symbol_batch.h"
#include "src/profile/profile.h"
#include "src/wire/otlp_facts.h"

namespace vesta::wire {

// One URL has carried several layouts; the numbers of fields tell them apart, once per request.
enum class OtlpLayout : uint8_t {
  kV1_8,
  kV1_9,
  kV1_10,  // up to now
};
const char* OtlpLayoutName(OtlpLayout layout);  // "v1.10"

struct OtlpDecodeOptions {
  // When it came: of samples for which nothing tells a time.
  int64_t arrival_unix_ms = 0;
  // The layout of what the same peer sent before, for requests that would fit two of them.
  std::optional<OtlpLayout> layout_of_peer = std::nullopt;
};

// Shape: reason is a stable word for counters, "stack_index"; example is a sentence about the
// first.
struct OtlpCount {
  std::string reason;
  uint64_t count = 0;
  std::string example;
};

// Shape: batch.profile is `profile`; the batch passes store::CheckBatch. id is there if the request
//        has one, and only one.
//        samples == sum of the rows' counts + excluded + sum(rejected). Rejected are samples that
//        are wrong (an index of nothing, a negative value); excluded those in which nothing was
//        observed: a value of 0 without a time. `dropped` counts what of kept samples a store has
//        no place for: attributes by key, links.
// Units: samples as in the book: counts, not messages.
struct OtlpBatch {
  std::unique_ptr<profile::Profile> profile;
  batch::Batch batch;
  OtlpFacts facts;
  OtlpLayout layout = OtlpLayout::kV1_10;
  bool layout_is_told = false;  // the request fits one layout only
  uint64_t samples = 0;
  uint64_t excluded = 0;
  std::vector<OtlpCount> rejected;
  std::vector<OtlpCount> dropped;

  uint64_t rejected_samples() const;
};

// Reads ExportProfilesServiceRequest or ProfilesData (the same bytes), not compressed.
// Shape:  samples/count with a period become the period's type, each sample worth a period. Text
//         and numbers of resources are labels; process.pid, thread.id and thread.name are the task,
//         other text of samples is a label, as it is when a pprof file is taken in; what a resource
//         says wins. A sample without times is of its profile's end, without that of the arrival.
// Cost:   linear in the bytes; memory about 10 times the bytes at worst.
// Errors: Corrupt for damaged protobuf, and a dictionary whose entries point at nothing that
// samples
//         could be told by; Unsupported naming the layout for v1.7 and older, and for a mixture.
base::Result<OtlpBatch> DecodeOtlp(std::string_view bytes, const OtlpDecodeOptions& options);

// Shape: symbols.profile is `profile`.
struct OtlpSymbols {
  std::unique_ptr<profile::Profile> profile;
  batch::SymbolBatch symbols;
  std::vector<OtlpCount> rejected;  // locations without a mapping or a line
};

// Errors: Corrupt for damaged protobuf or a message with profiles.
base::Result<OtlpSymbols> DecodeOtlpSymbols(std::string_view bytes);

}  // namespace vesta::wire
