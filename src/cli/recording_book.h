// The book of one recording: where every sample went, stage by stage. Written by `vesta record`
// into the state folder, shown by `vesta doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/result.h"

namespace vesta::cli {

// (reason, count); reasons with 0 may be left away.
using Reasons = std::vector<std::pair<std::string, uint64_t>>;

struct BookStage {
  std::string name;  // "kernel", "agent", ...: stable, in the order of a sample's journey
  uint64_t received = 0;
  Reasons excluded;  // not asked for
  uint64_t kept = 0;
  Reasons dropped;  // lost

  // received == sum(excluded) + kept + sum(dropped)
  bool Balances() const;
};

struct RecordingBook {
  uint64_t time_unix_ms = 0;  // start
  uint64_t duration_ns = 0;
  std::vector<BookStage> stages;
  Reasons incomplete;  // kept stacks that do not reach their root, by the reason the walk ended
  Reasons details;     // what else was counted, outside of the identity
};

// Shape:  {"time_unix_ms": n, "duration_ns": n, "stages": [{"name": s, "received": n,
//         "excluded": {reason: n}, "kept": n, "dropped": {reason: n}}], "incomplete": {reason: n},
//         "details": {reason: n}}
std::string BookToJson(const RecordingBook& book);
void WriteBook(const RecordingBook& book, base::JsonWriter& writer);  // as part of a document

// Errors: Corrupt; unknown keys are skipped, so that an older vesta reads a newer book.
base::Result<RecordingBook> BookFromJson(std::string_view json);

// The book as a table for people, one stage a paragraph; says so when a stage does not balance.
std::string BookToText(const RecordingBook& book);

// STATE_DIR/last_recording.json. Saving makes the folder, and writes aside and renames, so that a
// reader never sees half a book. Errors: as open(2), write(2); loading: NotFound, Corrupt.
base::Result<void> SaveBook(const std::string& state_dir, const RecordingBook& book);
base::Result<RecordingBook> LoadBook(const std::string& state_dir);

}  // namespace vesta::cli
