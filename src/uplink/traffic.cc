#include "src/uplink/traffic.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/check.h"

namespace vesta::uplink {

bool Traffic::Push(std::unique_ptr<Parcel> parcel) {
  const std::lock_guard lock(mutex_);
  pushed_ += parcel->samples();
  const bool has_room = queue_bytes_ + parcel->memory_bytes() <= queue_bytes_max_;
  if ((!has_room && !queue_.empty()) || is_stopping_) {
    dropped_full_ += parcel->samples();
    ++parcels_dropped_full_;
    return false;
  }
  queue_bytes_ += parcel->memory_bytes();
  queue_samples_ += parcel->samples();
  queue_.push_back(std::move(parcel));
  is_pushed_ = true;
  changed_.notify_all();
  return true;
}

std::unique_ptr<Parcel> Traffic::Take(size_t leave) {
  const std::lock_guard lock(mutex_);
  if (queue_.size() <= leave) return nullptr;
  std::unique_ptr<Parcel> parcel = std::move(queue_.front());
  queue_.pop_front();
  queue_bytes_ -= parcel->memory_bytes();
  queue_samples_ -= parcel->samples();
  in_hand_ += parcel->samples();
  return parcel;
}

void Traffic::Apply(const Change& change, spool::Spool* spool) {
  spool::SpoolState state;
  uint64_t oldest_ms = 0;
  if (spool != nullptr) {
    oldest_ms = spool->OldestAgeMs();  // may find damage, so it comes first
    state = spool->State();
  }
  const std::lock_guard lock(mutex_);
  CHECK(change.from_hand <= in_hand_);
  in_hand_ -= change.from_hand;
  acknowledged_ += change.acknowledged;
  spooled_rejected_ += change.spooled_rejected;
  if (change.dropped != 0) dropped_[change.reason] += change.dropped;
  spool_ = std::move(state);
  spool_oldest_ms_ = oldest_ms;
}

void Traffic::SetContact(bool is_answering, const std::string& error,
                         int64_t next_attempt_mono_ms) {
  const std::lock_guard lock(mutex_);
  ++deliveries_;
  if (!error.empty()) ++failures_;
  is_answering_ = is_answering;
  last_error_ = error;
  next_attempt_mono_ms_ = next_attempt_mono_ms;
}

// The two stages and the sums.
UplinkState Traffic::StageStates() const {
  UplinkState state;
  state.queue.name = "queue";
  state.queue.received = pushed_;
  state.queue.kept = pushed_ - dropped_full_;
  if (dropped_full_ != 0) state.queue.dropped = {{kDroppedQueueFull, dropped_full_}};

  std::map<std::string, uint64_t> dropped = dropped_;
  if (spooled_rejected_ != 0) dropped[kDroppedRejected] += spooled_rejected_;
  for (const auto& [reason, amount] : spool_.lost) {
    if (amount.samples != 0) dropped[reason] += amount.samples;
  }
  state.spool.name = "spool";
  state.spool.received = pushed_ - dropped_full_ - queue_samples_ + spool_.found.samples;
  state.acknowledged = acknowledged_ + spool_.acknowledged.samples - spooled_rejected_;
  state.queue_waiting = queue_samples_;
  state.spool_waiting = in_hand_ + spool_.waiting.samples;
  state.spool.kept = state.acknowledged + state.spool_waiting;
  state.spool.dropped.assign(dropped.begin(), dropped.end());
  return state;
}

UplinkState Traffic::State(int64_t now_mono_ms) const {
  const std::lock_guard lock(mutex_);
  UplinkState state = StageStates();
  state.queue_bytes = queue_bytes_;
  state.oldest_waiting_ms = spool_oldest_ms_;
  state.is_answering = is_answering_;
  state.last_error = last_error_;
  state.next_attempt_ms =
      static_cast<uint64_t>(std::max<int64_t>(next_attempt_mono_ms_ - now_mono_ms, 0));
  uint64_t lost_records = 0;
  for (const auto& [reason, amount] : spool_.lost) lost_records += amount.records;
  state.details = {{"queue_waiting", state.queue_waiting},
                   {"queue_bytes", queue_bytes_},
                   {"queue_full_batches", parcels_dropped_full_},
                   {"spool_acknowledged", state.acknowledged},
                   {"spool_waiting", state.spool_waiting},
                   {"spool_waiting_records", spool_.waiting.records},
                   {"spool_waiting_bytes", spool_.waiting.bytes},
                   {"spool_found", spool_.found.samples},
                   {"spool_written", spool_.appended.samples},
                   {"spool_written_bytes", spool_.appended.bytes},
                   {"spool_lost_records", lost_records},
                   {"spool_disk_bytes", spool_.disk_bytes},
                   {"spool_files_aside", spool_.files_aside},
                   {"spool_oldest_seconds", spool_oldest_ms_ / 1'000},
                   {"deliveries", deliveries_},
                   {"delivery_failures", failures_}};
  return state;
}

void Traffic::Wait(uint64_t wait_ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                    [this] { return is_pushed_ || is_stopping_; });
  is_pushed_ = false;
}

void Traffic::RequestStop() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  changed_.notify_all();
}

bool Traffic::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

}  // namespace vesta::uplink
