// What the uplink carries: a batch or late names, as values or as the bytes of the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "src/batch/batch.h"
#include "src/batch/symbol_batch.h"
#include "src/book/book.h"
#include "src/profile/profile.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/otlp_facts.h"

namespace vesta::uplink {

// A batch that owns what it points to.
// Shape: batch.profile is profile.get(); batch.id is set. The book tells the stages up to this
//        batch; the uplink adds its own when it is sent.
struct OwnedBatch {
  std::unique_ptr<profile::Profile> profile;
  batch::Batch batch;
  wire::OtlpFacts facts;  // its book is written when it is sent
  book::Book book;
};

struct OwnedSymbols {
  std::unique_ptr<profile::Profile> profile;
  batch::SymbolBatch symbols;
};

// Samples behind the rows: the unit of the book.
uint64_t SamplesOf(const batch::Batch& batch);
// "agent/boot/sequence"
std::string BatchIdText(const batch::BatchId& id);

// One delivery: fresh from the agent, with its values, or from the spool, as bytes alone.
// Owner: the uplink's thread.
class Parcel {
 public:
  explicit Parcel(std::unique_ptr<OwnedBatch> batch);
  explicit Parcel(std::unique_ptr<OwnedSymbols> symbols);
  // Plain bytes of the wire. id: as BatchIdText makes it, "" = none.
  Parcel(bool is_batch, std::string id, uint64_t samples, std::string plain);

  bool is_batch() const { return is_batch_; }
  const std::string& id() const { return id_; }
  uint64_t samples() const { return samples_; }
  uint64_t memory_bytes() const { return memory_bytes_; }  // of the values, about
  // Null when it comes from the spool, or is of the other kind.
  const OwnedBatch* batch() const { return batch_.get(); }
  const OwnedSymbols* symbols() const { return symbols_.get(); }
  // The batch's book with the uplink's stages; it has none when it comes from the spool.
  const book::Book& book() const { return book_; }
  void SetBook(book::Book book) { book_ = std::move(book); }

  // The bytes of the wire without compression: OTLP, made when they are first asked for.
  const std::string& Plain();
  // The same of a batch whose values are there, behind the tables of others (otlp_encoder.h).
  std::string PlainBehind(wire::otlp::DictionaryTables* tables) const;

 private:
  bool is_batch_;
  std::string id_;
  uint64_t samples_;
  uint64_t memory_bytes_ = 0;
  std::unique_ptr<OwnedBatch> batch_;
  std::unique_ptr<OwnedSymbols> symbols_;
  book::Book book_;
  std::optional<std::string> plain_;
};

}  // namespace vesta::uplink
