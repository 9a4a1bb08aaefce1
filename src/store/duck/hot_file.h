// The durable log of an open volume: rows of parts that are not sealed, deltas of the dictionary,
// and which batches were counted, in one DuckDB file.
//
// Tables: rows_<part>(type, series, task, stack, time_unix_ms, value, count, weight),
// journal("commit", dictionary BLOB, state BLOB, agent BLOB, boot BLOB, "sequence", "rows",
// time_unix_ms): a row per batch that a commit counts, dictionary and state in its first one; a
// commit without batches has one row with agent NULL. One table for all, since each table that a
// commit touches costs it 0.3 ms.
// meta(schema_version).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/store/duck/duck_db.h"
#include "src/store/duck/row_columns.h"

namespace vesta::store::duck {

using Bytes = std::span<const uint8_t>;

// A batch that was counted.
struct LedgerRow {
  std::string_view agent;
  std::string_view boot;
  uint64_t sequence = 0;
  uint64_t rows = 0;  // kept
  int64_t time_unix_ms = 0;
};

struct PartRows {
  uint32_t part = 0;  // a table is made for a new one
  RowColumns rows;    // all columns
};

// What becomes durable together.
struct HotCommit {
  std::span<const PartRows> parts;
  Bytes dictionary;  // a delta, opaque here; empty = none
  Bytes state;       // opaque; a load gives back only the last one that was not empty
  std::span<const LedgerRow> ledger;
};

// Called in this order: state (at most once), dictionary deltas as they were committed, ledger, and
// rows part by part, each part's as they were committed. Views live until the call returns.
struct HotLoad {
  std::function<base::Result<void>(Bytes)> state;
  std::function<base::Result<void>(Bytes)> dictionary;
  std::function<base::Result<void>(const LedgerRow&)> ledger;
  std::function<base::Result<void>(uint32_t part, const RowColumns&)> rows;
};

struct HotPart {
  uint32_t part = 0;
  uint64_t rows = 0;
};

// A Commit that makes the log longer (44 bytes a row) moves it into the file as Checkpoint does.
// Ever longer logs would save 4 % of the work of a commit, but cost start and memory
// (docs/decisions/0009).
inline constexpr uint64_t kLogBytesMax = uint64_t{16} << 20;

// Owner: one thread at a time calls Commit, DropPart and Checkpoint; the rest may be called beside
//        them by others.
// Errors of all: Unavailable when the disk is full or refuses, with nothing of that call kept;
//        Corrupt, naming the file; Exhausted beyond DuckDB's memory. After an error of Commit that
//        is not Unavailable the file must be opened again.
class HotFile {
 public:
  // Makes the file when it is not there.
  // Errors: besides, Unsupported for a schema version that is not ours, naming both.
  static base::Result<std::unique_ptr<HotFile>> Open(const DuckDb& db, const std::string& path);
  // As Close, but an error is lost.
  ~HotFile();

  base::Result<void> Load(const HotLoad& load);

  // Durable when it returns without an error: it is on disk, whole.
  base::Result<void> Commit(const HotCommit& commit);

  // Parts that have a table, in order.
  base::Result<std::vector<HotPart>> Parts();

  // Writes the part's rows as SealRows of parquet_rows.h does. The table stays.
  // Errors: besides, NotFound.
  base::Result<uint64_t> SealPart(uint32_t part, const std::string& parquet_path);
  // Nothing happens when there is no such part.
  base::Result<void> DropPart(uint32_t part);

  // Moves what the write-ahead log holds into the file. Best after parts were dropped: then few
  // rows are left to move, and the file gives their room back.
  base::Result<void> Checkpoint();
  base::Result<void> Close();

 private:
  class State;
  explicit HotFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace vesta::store::duck
