// Any bytes: an error, or a batch that keeps its rules, balances, and survives being written and
// read again.
#include <algorithm>

#include "src/batch/limits.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/otlp_file.h"
#include "src/wire/otlp_response.h"

namespace {

using vesta::batch::Batch;
using vesta::batch::BatchRow;

void CheckRules(const vesta::wire::OtlpBatch& made) {
  const Batch& batch = made.batch;
  CHECK(made.profile->Validate().ok());
  uint64_t kept = 0;
  for (const BatchRow& row : batch.rows) {
    CHECK(row.type < batch.types.size() && row.series < batch.series.size());
    CHECK(row.task < batch.tasks.size() && row.stack.value() < made.profile->stack_count());
    CHECK(row.value >= 0 && row.count >= 0 && (row.value != 0 || row.count != 0));
    CHECK(row.time_unix_ms >= 0 && row.time_unix_ms < vesta::batch::kTimeUnixMsEnd);
    CHECK(row.weight > 0);
    kept += static_cast<uint64_t>(row.count);
  }
  CHECK(made.samples == kept + made.excluded + made.rejected_samples());
  for (const vesta::batch::Labels& labels : batch.series) {
    CHECK(labels.size() <= vesta::batch::kLabelsMax);
    CHECK(std::is_sorted(labels.begin(), labels.end()));
    for (const vesta::batch::Label& label : labels)
      CHECK(!label.name.empty() && !label.value.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vesta::wire;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto made = DecodeOtlp(bytes, {.arrival_unix_ms = 1});
  if (made.ok()) {
    CheckRules(*made);
    const auto again = DecodeOtlp(EncodeOtlp(made->batch, made->facts), {.arrival_unix_ms = 1});
    CHECK(again.ok());
    CHECK(again->batch.rows.size() == made->batch.rows.size());
    CHECK(again->rejected.empty());
    // Behind the tables of a message before.
    otlp::DictionaryTables tables;
    EncodeOtlp(again->batch, again->facts, &tables);
    const auto behind =
        DecodeOtlp(EncodeOtlp(made->batch, made->facts, &tables), {.arrival_unix_ms = 1});
    CHECK(behind.ok());
    CHECK(behind->batch.rows.size() == made->batch.rows.size());
    CHECK(behind->rejected.empty());
  }
  const auto symbols = DecodeOtlpSymbols(bytes);
  if (symbols.ok()) {
    const auto again = DecodeOtlpSymbols(EncodeOtlpSymbols(symbols->symbols));
    CHECK(again.ok());
    CHECK(again->symbols.locations.size() <= symbols->symbols.locations.size());
    CHECK(again->rejected.empty());
  }
  const auto file = DecodeOtlpFile(bytes, 1 << 20);
  if (file.ok()) {
    CHECK(file->Validate().ok());
    CHECK(DecodeOtlpFile(EncodeOtlpProfile(*file), uint64_t{1} << 30).ok());
  }
  const auto response = DecodeOtlpResponse(bytes);
  if (response.ok()) CHECK(*DecodeOtlpResponse(EncodeOtlpResponse(*response)) == *response);
  return 0;
}
