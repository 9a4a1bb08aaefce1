// The durable log of an open volume: rows of parts that are not sealed, deltas of the dictionary,
// and which batches were counted, in one DuckDB file.
//
// Tables: rows_<part>("commit", row_count, "bytes" BLOB): the rows of a commit as in row_bytes.h,
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

// When the log is longer (6 to 44 bytes a row), a Checkpoint is due. Ever longer logs would save
// 4 % of the work of a commit, but cost start and memory (docs/decisions/0009).
inline constexpr uint64_t kLogBytesMax = uint64_t{8} << 20;

// Owner: one thread at a time. Parts may be called by others beside it.
// Errors of all: Unavailable when the disk is full or refuses; Corrupt, naming the file; Exhausted
//        beyond DuckDB's memory. After an error is_usable may be false: the file must be opened
//        again then. Only after that it is known whether a commit that failed is there: next_commit
//        says it, TakeBack removes it.
class HotFile {
 public:
  // Makes the file when it is not there.
  // Errors: besides, Unsupported for a schema version that is not ours, naming both.
  static base::Result<std::unique_ptr<HotFile>> Open(const DuckDb& db, const std::string& path);
  // As Close, but an error is lost.
  ~HotFile();

  base::Result<void> Load(const HotLoad& load);

  // Durable when it returns without an error: it is on disk, whole. Commits are numbered from 0 on;
  // one of nothing is none.
  base::Result<void> Commit(const HotCommit& commit);
  uint64_t next_commit() const;
  // Removes this commit and all behind it. Part tables stay.
  base::Result<void> TakeBack(uint64_t commit);

  // Of the write-ahead log. It never gets shorter by itself, since a checkpoint that fails must not
  // be mistaken for a commit that does.
  uint64_t log_bytes() const;

  // Parts that have a table, in order.
  base::Result<std::vector<HotPart>> Parts();

  // Nothing happens when there is no such part.
  base::Result<void> DropPart(uint32_t part);

  // Moves what the write-ahead log holds into the file. Best after parts were dropped: then few
  // rows are left to move, and the file gives their room back.
  // Errors: besides, Unavailable, with nothing tried, when the disk has no room for it: one that
  //         fails leaves the file so large that nobody else has room.
  base::Result<void> Checkpoint();
  // With a checkpoint, when there is room.
  base::Result<void> Close();
  bool is_usable() const;

 private:
  class State;
  explicit HotFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace vesta::store::duck
