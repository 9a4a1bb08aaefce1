// Who sends batches: what each sent, what it says of itself, and what is needed to unpack its next.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json.h"
#include "src/book/book.h"
#include "src/store/batch.h"
#include "src/store/store.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_facts.h"

namespace vesta::server {

// What became of what one sender sent.
// Units: rows; each sample of our own agents is a row.
struct SenderBook {
  uint64_t batches = 0;
  uint64_t received = 0;  // == kept + duplicate + empty + rejected + too_old + too_new
  uint64_t kept = 0;      // those in the overflow series included
  uint64_t overflowed = 0;
  uint64_t duplicate = 0;  // excluded: counted before
  uint64_t empty = 0;      // excluded: nothing was observed
  uint64_t rejected = 0;   // dropped: the message was wrong there
  uint64_t too_old = 0;    // dropped
  uint64_t too_new = 0;    // dropped

  void Add(const SenderBook& other);
};

// Of one batch, of which the store got all but the `empty` and the `rejected` rows.
SenderBook BookOf(const store::AppendOutcome& outcome, uint64_t empty, uint64_t rejected);

// What an agent says was acknowledged, and what we took in from it, at the moment that a book of
// its left: it sends one batch after another, so the two are of the same ones.
struct AtBook {
  uint64_t acknowledged = 0;
  SenderBook rows;
};

// An agent of ours, by its id; all others are one, with the id "".
struct Sender {
  std::string agent;
  std::string boot;
  std::string version;
  int64_t first_seen_unix_ms = 0;
  int64_t last_seen_unix_ms = 0;
  std::optional<int64_t> clock_ahead_ms;  // its clock less ours, its way here included
  SenderBook rows;
  std::optional<book::Book> book;  // its newest; of its life since it was started
  int64_t said_unix_ns = 0;        // when it said so, by its clock
  AtBook first;                    // of its life that book is of, the first that we heard
  AtBook newest;
};

// What was taken in, for Note.
struct Received {
  std::optional<store::BatchId> id;
  wire::OtlpFacts facts;
  SenderBook rows;
  int64_t now_unix_ms = 0;
};

// Shape:   at most senders_max are remembered; the one that was silent longest goes, and its rows
//          are told with those of the id "".
// Threads: any.
class Senders {
 public:
  struct Limits {
    size_t senders_max = 4096;
    size_t body_bytes_max = size_t{4} << 20;  // kept to unpack the next one
    size_t bodies_bytes_max = size_t{64} << 20;
    size_t book_bytes_max = size_t{64} << 10;  // as it is sent
  };
  explicit Senders(const Limits& limits) : limits_(limits) {}
  Senders() : Senders(Limits{}) {}

  void Note(const Received& received);
  // Sorted by id.
  std::vector<Sender> List() const;

  // The plain bytes of a batch that was taken in; of each agent those two are there that came or
  // were asked for last, while there is room. Null when they are not.
  std::shared_ptr<const std::string> BodyOf(const std::string& batch_id);
  // Returns how large it may be to be kept: less where many agents are active.
  size_t KeepBody(const store::BatchId& id, std::string plain, int64_t now_unix_ms);

  // What the last request of this peer was known to be, for one that could be two.
  std::optional<wire::OtlpLayout> LayoutOf(const std::string& peer) const;
  void NoteLayout(const std::string& peer, wire::OtlpLayout layout);

 private:
  struct Body {
    std::string agent;
    std::string batch_id;
    std::shared_ptr<const std::string> plain;
  };

  Sender& SenderOf(const std::string& agent, int64_t now_unix_ms);
  void DropBody(std::list<Body>::iterator body);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Sender> senders_;
  std::list<Body> bodies_;  // oldest first
  std::map<std::string, std::list<Body>::iterator> body_of_;
  size_t bodies_bytes_ = 0;
  std::map<std::string, wire::OtlpLayout> layouts_;
};

// "agent/boot/sequence"
std::string BatchIdText(const store::BatchId& id);

// {"agents": [{"agent": s, "boot": s, "version": s, "first_seen_unix_ms": n, "last_seen_unix_ms":
// n, "clock_ahead_ms": n or null, "rows": {...}, "book": book of src/book or null, "delivered":
// {"acknowledged": n, "taken": n, "taken_again": n, "waiting": n} or null}]}; the one without an id
// stands for all that are not agents of ours. "delivered" is between the first book of its life
// that we heard and its newest: acknowledged and waiting by its own words.
std::string SendersJson(const std::vector<Sender>& senders);

}  // namespace vesta::server
