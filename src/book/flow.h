// The book end to end: whether as many samples as left each step came to the next one, from the
// tick of a CPU to the rows of a store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/book/book.h"

namespace vesta::book {

// Shape: step "kernel", or "kernel > agent" between two. came == accounted when it balances.
struct FlowLine {
  std::string step;
  uint64_t came = 0;       // to the step, or left the one before
  uint64_t accounted = 0;  // what is known of these
  std::string note = {};   // what is not obvious, such as how many are under way
  bool Balances() const { return came == accounted; }
};

// What a server counted of one agent, and of its store.
// Units: rows; each sample of an agent is a row.
struct ServerCounts {
  // Of all that the agent sent since the server was started.
  uint64_t received = 0;
  uint64_t kept = 0;
  uint64_t duplicate = 0;
  uint64_t empty = 0;
  uint64_t dropped = 0;
  // Between two books of the agent: what it says was acknowledged, and what the server took in.
  bool is_compared = false;
  uint64_t acknowledged = 0;
  uint64_t taken = 0;
  uint64_t taken_again = 0;
  uint64_t waiting = 0;  // of these, sent once at most, and its answer may be lost
  // Of all senders since the store was made.
  uint64_t store_received = 0;
  uint64_t store_kept = 0;
  uint64_t store_duplicate = 0;
  uint64_t store_dropped = 0;
  uint64_t store_rows = 0;
  uint64_t store_expired = 0;
  uint64_t store_quarantined = 0;
};

// The stages of an agent's book, and what is between those that it has.
std::vector<FlowLine> FlowOfAgent(const Book& book);
std::vector<FlowLine> FlowOfServer(const ServerCounts& counts);

// [{"step": s, "came": n, "accounted": n, "balances": b, "note": s}]
void WriteFlow(const std::vector<FlowLine>& flow, base::JsonWriter& writer);
// A line each.
std::string FlowText(const std::vector<FlowLine>& flow);

}  // namespace vesta::book
