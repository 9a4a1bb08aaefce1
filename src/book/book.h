// The book: where every sample went, stage by stage. Written into the state folder, shown by
// `vesta doctor`, and sent along with an agent's batches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/result.h"

namespace vesta::book {

// (reason, count); reasons with 0 may be left away.
using Reasons = std::vector<std::pair<std::string, uint64_t>>;

struct Stage {
  std::string name;  // "kernel", "agent", ...: stable, in the order of a sample's journey
  uint64_t received = 0;
  Reasons excluded;  // not asked for
  uint64_t kept = 0;
  Reasons dropped;  // lost

  // received == sum(excluded) + kept + sum(dropped)
  bool Balances() const;
};

struct Book {
  uint64_t time_unix_ms = 0;  // start
  uint64_t duration_ns = 0;
  std::vector<Stage> stages;
  Reasons incomplete;  // kept stacks that do not reach their root, by the reason the walk ended
  Reasons details;     // what else was counted, outside of the identity
};

// Shape:  {"time_unix_ms": n, "duration_ns": n, "stages": [{"name": s, "received": n,
//         "excluded": {reason: n}, "kept": n, "dropped": {reason: n}}], "incomplete": {reason: n},
//         "details": {reason: n}}
std::string BookToJson(const Book& book);
void WriteBook(const Book& book, base::JsonWriter& writer);  // as part of a document

// Errors: Corrupt; unknown keys are skipped, so that an older vesta reads a newer book.
base::Result<Book> BookFromJson(std::string_view json);

// The book as a table for people, one stage a paragraph; says so when a stage does not balance.
// title: "Recording of" or the like, before the time.
std::string BookToText(const Book& book, std::string_view title = "Recording of");

enum class BookKind : uint8_t {
  kRecording,  // STATE_DIR/last_recording.json
  kAgent,      // STATE_DIR/agent.json
};

// Saving makes the folder, and writes aside and renames, so that a reader never sees half a book.
// Errors: as open(2), write(2); loading: NotFound, Corrupt.
base::Result<void> SaveBook(const std::string& state_dir, const Book& book,
                            BookKind kind = BookKind::kRecording);
base::Result<Book> LoadBook(const std::string& state_dir, BookKind kind = BookKind::kRecording);

// Makes the folder with those above it. Errors: as mkdir(2).
base::Result<void> MakeStateFolder(const std::string& state_dir);

}  // namespace vesta::book
