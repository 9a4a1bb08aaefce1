#include "src/cli/always_on/store_sink.h"

#include <chrono>
#include <string>
#include <utility>

#include "src/book/book.h"
#include "src/wire/otlp_decoder.h"

namespace vesta::cli {
namespace {

using uplink::Delivery;
using uplink::Verdict;

int64_t NowUnixMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What a store cannot take now it may take later; what is wrong stays so.
Delivery NotTaken(const base::Error& error) {
  const bool is_wrong = error.code() == base::ErrorCode::kInvalidInput ||
                        error.code() == base::ErrorCode::kCorrupt ||
                        error.code() == base::ErrorCode::kUnsupported;
  return {.verdict = is_wrong ? Verdict::kRefused : Verdict::kLater, .message = error.message()};
}

}  // namespace

Delivery StoreSink::Deliver(uplink::Parcel& parcel) {
  return parcel.is_batch() ? DeliverBatch(parcel) : DeliverSymbols(parcel);
}

Delivery StoreSink::DeliverBatch(uplink::Parcel& parcel) {
  // From the spool it comes as bytes.
  wire::OtlpBatch decoded;
  const batch::Batch* batch = nullptr;
  server::Received received;
  received.now_unix_ms = NowUnixMs();
  if (const uplink::OwnedBatch* owned = parcel.batch()) {
    batch = &owned->batch;
    received.facts = owned->facts;
    received.facts.book = book::BookToJson(parcel.book());
  } else {
    auto read = wire::DecodeOtlp(parcel.Plain(), {.arrival_unix_ms = received.now_unix_ms});
    if (!read.ok()) return NotTaken(read.error());
    decoded = std::move(read).value();
    batch = &decoded.batch;
    received.facts = decoded.facts;
  }
  store::AppendOutcome outcome;
  if (!batch->rows.empty()) {
    const auto appended = store_.Append(*batch);
    if (!appended.ok()) return NotTaken(appended.error());
    outcome = *appended;
  }
  received.id = batch->id;
  received.rows = server::BookOf(outcome, decoded.excluded, decoded.rejected_samples());
  senders_.Note(received);
  Delivery delivery;
  delivery.samples_rejected =
      outcome.rows_too_old + outcome.rows_too_new + decoded.rejected_samples();
  if (delivery.samples_rejected != 0) {
    delivery.message = "the store has no place for " + std::to_string(delivery.samples_rejected) +
                       " samples: too old for --retention, or ahead of the clock";
  }
  return delivery;
}

Delivery StoreSink::DeliverSymbols(uplink::Parcel& parcel) {
  if (const uplink::OwnedSymbols* owned = parcel.symbols()) {
    const auto appended = store_.AppendSymbols(owned->symbols);
    return appended.ok() ? Delivery() : NotTaken(appended.error());
  }
  const auto read = wire::DecodeOtlpSymbols(parcel.Plain());
  if (!read.ok()) return NotTaken(read.error());
  const auto appended = store_.AppendSymbols(read->symbols);
  return appended.ok() ? Delivery() : NotTaken(appended.error());
}

}  // namespace vesta::cli
