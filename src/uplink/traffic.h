// The uplink's queue and its book, which its own thread and others share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "src/spool/spool.h"
#include "src/uplink/parcel.h"
#include "src/uplink/uplink.h"

namespace vesta::uplink {

// Threads: all at once. The book balances at any moment.
class Traffic {
 public:
  explicit Traffic(uint64_t queue_bytes_max) : queue_bytes_max_(queue_bytes_max) {}

  bool Push(std::unique_ptr<Parcel> parcel);
  // The oldest one, which is in the caller's hand then; null when no more than `leave` are there.
  std::unique_ptr<Parcel> Take(size_t leave = 0);

  // What became of samples. The spool is null, or as it is after that.
  struct Change {
    uint64_t from_hand = 0;         // no longer in the thread's hand
    uint64_t acknowledged = 0;      // of these
    uint64_t spooled_rejected = 0;  // of what the spool calls acknowledged
    uint64_t dropped = 0;           // of those from the hand
    const char* reason = "";
  };
  void Apply(const Change& change, spool::Spool* spool);
  // After an attempt. error: "" = it was taken.
  void SetContact(bool is_answering, const std::string& error, int64_t next_attempt_mono_ms);

  UplinkState State(int64_t now_mono_ms) const;

  // Until something is pushed, it shall stop, or the time is over.
  void Wait(uint64_t wait_ms);
  void RequestStop();
  bool is_stopping() const;

 private:
  UplinkState StageStates() const;

  const uint64_t queue_bytes_max_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_pushed_ = false;
  bool is_stopping_ = false;

  std::deque<std::unique_ptr<Parcel>> queue_;
  uint64_t queue_bytes_ = 0;
  uint64_t queue_samples_ = 0;
  uint64_t pushed_ = 0;
  uint64_t dropped_full_ = 0;
  uint64_t parcels_dropped_full_ = 0;

  uint64_t in_hand_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t spooled_rejected_ = 0;
  std::map<std::string, uint64_t> dropped_;  // by reason
  spool::SpoolState spool_;
  uint64_t spool_oldest_ms_ = 0;

  uint64_t deliveries_ = 0;
  uint64_t failures_ = 0;
  bool is_answering_ = true;
  std::string last_error_;
  int64_t next_attempt_mono_ms_ = 0;
};

}  // namespace vesta::uplink
