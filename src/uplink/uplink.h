// Brings what the agent measured to a sink: at once while it answers, by way of the spool when it
// does not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/book/book.h"
#include "src/spool/spool.h"
#include "src/uplink/parcel.h"
#include "src/uplink/sink.h"

namespace vesta::uplink {

struct UplinkOptions {
  uint64_t queue_bytes_max = 16 << 20;  // memory of what waits for the thread
  // Pauses after a failure: the first, twice as long after each further one, up to the longest;
  // each is cut by up to a half, by chance, so that agents do not come back all at once.
  uint64_t pause_ms_first = 1'000;
  uint64_t pause_ms_max = 60'000;
  uint64_t retry_after_ms_max = 600'000;  // a sink that asks for more is tried then
  // Of what the spool has, besides what is fresh.
  uint64_t catch_up_bytes_per_s = 1 << 20;
  double catch_up_requests_per_s = 10;
  // Plain bytes of the first batch of a spool file, kept so that the next ones can be packed
  // against it; a larger one is not.
  uint64_t reference_bytes_max = 2 << 20;
  int compression_level = 3;  // in the spool
  // Nothing = CLOCK_MONOTONIC, and a chance of its own; in [0, 1).
  std::function<int64_t()> now_mono_ms = {};
  std::function<double()> chance = {};
  // A line for the log that a person can act on; the same one at most every ten minutes. Called on
  // the uplink's thread.
  std::function<void(const std::string& sentence)> on_notice = {};
};

// Reasons of dropped samples.
inline constexpr const char* kDroppedQueueFull = "queue_full";
inline constexpr const char* kDroppedTooLarge = "too_large";  // for the spool
inline constexpr const char* kDroppedStopped = "stopped";     // no spool, and no time left
inline constexpr const char* kDroppedRefused = "refused";     // by the sink, for good
inline constexpr const char* kDroppedRejected = "rejected";   // by the sink, out of a batch

// Units: samples where nothing else is said.
struct UplinkState {
  // queue: received = pushed; kept = left for the spool stage, or waits.
  book::Stage queue;
  // spool: all between the queue and the sink's word, by way of the disk or not. received = from
  // the queue, and found on disk at the start; kept = acknowledged + waiting.
  book::Stage spool;
  // As details of a book: queue_waiting, spool_waiting, spool_acknowledged, spool_found,
  // spool_disk_bytes, deliveries, delivery_failures, oldest_waiting_seconds, ...
  book::Reasons details;
  uint64_t acknowledged = 0;
  uint64_t queue_waiting = 0;  // samples
  uint64_t spool_waiting = 0;  // samples, those under way included
  uint64_t queue_bytes = 0;
  uint64_t oldest_waiting_ms = 0;
  bool is_answering = true;      // the last attempt had an answer
  uint64_t next_attempt_ms = 0;  // from now; 0 = at once
  std::string last_error;        // of the last attempt that failed; stays until one is delivered
};

// Owner:   any one thread for the ends; Push and State from any.
// Threads: one of its own, which does all that waits: delivery, encoding and the disk.
// Cost:    Push takes a lock for a few instructions and never waits for the network or the disk.
class Uplink {
 public:
  // The spool may be null: then nothing outlives the process, and what does not fit the queue is
  // lost. The sink must outlive the uplink.
  static std::unique_ptr<Uplink> Start(const UplinkOptions& options, Sink& sink,
                                       std::unique_ptr<spool::Spool> spool);
  virtual ~Uplink() = default;

  // False when the queue is full: it was dropped and counted. What is larger than the whole queue
  // is taken when nothing else waits.
  virtual bool Push(std::unique_ptr<OwnedBatch> batch) = 0;
  virtual bool Push(std::unique_ptr<OwnedSymbols> symbols) = 0;

  virtual UplinkState State() const = 0;
  // User and system time of the uplink's thread so far, for the agent's limit.
  virtual uint64_t ThreadCpuNs() const = 0;

  // Delivers what is in the queue while the sink answers and there is time, puts the rest into the
  // spool, and ends the thread. A delivery that runs is cancelled when half the time is over.
  // Returns the last state. Called once; the destructor does it with two seconds.
  virtual UplinkState Stop(uint64_t deadline_ms) = 0;
};

}  // namespace vesta::uplink
