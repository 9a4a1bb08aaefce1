#include "src/uplink/parcel.h"

#include <utility>

namespace vesta::uplink {
namespace {

constexpr uint64_t kBytesPerLabel = 96;  // two short texts

uint64_t MemoryBytesOf(const OwnedBatch& owned) {
  uint64_t bytes = sizeof(OwnedBatch) + owned.profile->memory_bytes();
  bytes += owned.batch.rows.capacity() * sizeof(batch::BatchRow);
  bytes += owned.batch.tasks.capacity() * sizeof(batch::Task);
  for (const batch::Labels& labels : owned.batch.series) bytes += labels.size() * kBytesPerLabel;
  return bytes;
}

uint64_t MemoryBytesOf(const OwnedSymbols& owned) {
  return sizeof(OwnedSymbols) + owned.profile->memory_bytes() +
         owned.symbols.locations.capacity() * sizeof(profile::LocationId);
}

std::string TextOf(const std::optional<batch::BatchId>& id) {
  return id ? BatchIdText(*id) : std::string();
}

}  // namespace

uint64_t SamplesOf(const batch::Batch& batch) {
  uint64_t samples = 0;
  for (const batch::BatchRow& row : batch.rows) samples += static_cast<uint64_t>(row.count);
  return samples;
}

std::string BatchIdText(const batch::BatchId& id) {
  return id.agent + "/" + id.boot + "/" + std::to_string(id.sequence);
}

Parcel::Parcel(std::unique_ptr<OwnedBatch> batch)
    : is_batch_(true),
      id_(TextOf(batch->batch.id)),
      samples_(SamplesOf(batch->batch)),
      memory_bytes_(MemoryBytesOf(*batch)),
      batch_(std::move(batch)) {}

Parcel::Parcel(std::unique_ptr<OwnedSymbols> symbols)
    : is_batch_(false),
      id_(TextOf(symbols->symbols.id)),
      samples_(0),
      memory_bytes_(MemoryBytesOf(*symbols)),
      symbols_(std::move(symbols)) {}

Parcel::Parcel(bool is_batch, std::string id, uint64_t samples, std::string plain)
    : is_batch_(is_batch), id_(std::move(id)), samples_(samples), plain_(std::move(plain)) {}

const std::string& Parcel::Plain() {
  if (plain_) return *plain_;
  if (symbols_) {
    plain_ = wire::EncodeOtlpSymbols(symbols_->symbols);
  } else {
    wire::otlp::DictionaryTables tables;
    plain_ = PlainBehind(&tables);
  }
  return *plain_;
}

std::string Parcel::PlainBehind(wire::otlp::DictionaryTables* tables) const {
  wire::OtlpFacts facts = batch_->facts;
  facts.book = book::BookToJson(book_);
  return wire::EncodeOtlp(batch_->batch, facts, tables);
}

}  // namespace vesta::uplink
