// What is written to a store, and what became of it.
#pragma once

#include <cstdint>

#include "src/batch/batch.h"
#include "src/batch/symbol_batch.h"

namespace vesta::store {

using batch::Batch;
using batch::BatchId;
using batch::BatchRow;
using batch::Label;
using batch::Labels;
using batch::ProfileType;
using batch::SymbolBatch;
using batch::Task;

// received == kept + duplicate + too_old + too_new.
struct AppendOutcome {
  uint64_t rows_received = 0;
  uint64_t rows_kept = 0;        // those in the overflow series included
  uint64_t rows_overflowed = 0;  // kept without their own labels: the store has too many series
  uint64_t rows_duplicate = 0;   // excluded: their batch was counted before
  uint64_t rows_too_old = 0;     // dropped: before what retention keeps
  uint64_t rows_too_new = 0;     // dropped: more than a day ahead of this machine's clock
};

// received == kept + unchanged + without_image + without_name + too_large.
struct SymbolsOutcome {
  uint64_t locations_received = 0;
  uint64_t locations_kept = 0;
  uint64_t locations_unchanged = 0;      // excluded: known so, or their batch came before
  uint64_t locations_without_image = 0;  // dropped: neither a build id nor a path
  uint64_t locations_without_name = 0;   // dropped: no line
  uint64_t locations_too_large = 0;      // dropped: beyond the limits of symbol_check.h

  void Add(const SymbolsOutcome& other) {
    locations_received += other.locations_received;
    locations_kept += other.locations_kept;
    locations_unchanged += other.locations_unchanged;
    locations_without_image += other.locations_without_image;
    locations_without_name += other.locations_without_name;
    locations_too_large += other.locations_too_large;
  }
  friend bool operator==(const SymbolsOutcome&, const SymbolsOutcome&) = default;
};

}  // namespace vesta::store
