// What the uplink's thread does, round by round, without the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/spool/spool.h"
#include "src/uplink/pace.h"
#include "src/uplink/parcel.h"
#include "src/uplink/sink.h"
#include "src/uplink/traffic.h"
#include "src/uplink/uplink.h"

namespace vesta::uplink {

// While the sink answers, what is fresh goes to it at once, and after each the oldest of the spool,
// as the rate allows. After a failure all goes into the spool until the pause is over; what comes
// first then is the attempt by which it is seen whether the sink is back.
// Owner: one thread; sink and traffic must outlive it.
class Courier {
 public:
  // Options without a clock or a chance of their own are a programmer error.
  Courier(const UplinkOptions& options, Sink& sink, std::unique_ptr<spool::Spool> spool,
          Traffic& traffic);

  // All that can be done now. Returns how long nothing will be to do if nothing is pushed.
  uint64_t Round();
  // The last one: delivers what is fresh until half of the time is over, spools the rest.
  void Finish(uint64_t deadline_ms);

 private:
  std::unique_ptr<Parcel> NextFresh(size_t leave = 0);
  bool DeliverFresh();
  bool DeliverOldest();
  std::unique_ptr<Parcel> Unpack(const spool::Record& record);
  base::Result<std::string> PrefixOf(const spool::Record& record);
  void SettleOldest(uint64_t sequence, uint64_t samples, const Delivery& delivery);
  void LoseOldest(uint64_t sequence, uint64_t samples);
  // Counts the attempt, and begins or ends a pause.
  Delivery Send(Parcel& parcel);

  bool Stow(Parcel& parcel);
  base::Result<void> Append(Parcel& parcel);
  void StowAll();
  void Maintain();
  uint64_t WaitMs();

  int64_t now_ms() const { return options_.now_mono_ms(); }
  bool IsPaused() const { return !pause_.IsOver(now_ms()); }
  void TellRefused(const std::string& message);
  bool Tell(const std::string& topic, const std::string& text);

  const UplinkOptions options_;
  Sink& sink_;
  const std::unique_ptr<spool::Spool> spool_;
  Traffic& traffic_;

  Pause pause_;
  RateLimit bytes_limit_;
  RateLimit requests_limit_;
  NoticeLimit notices_;
  int64_t failing_since_ms_ = 0;  // 0 = the last one was taken, or refused
  bool has_failed_ = false;       // the last one
  bool is_failure_told_ = false;
  int64_t read_again_ms_ = 0;  // the spool, after it could not be read

  std::unique_ptr<Parcel> held_;  // fresh, and neither delivered nor spooled yet

  // What the plain bytes of a record were, to which others of its file refer.
  struct Reference {
    uint64_t sequence = 0;  // 0 = none
    std::string plain;
  };
  Reference written_;
  Reference read_;

  // The oldest record, when the sink fails on it and may take others: 0 = it does not. Then the
  // newest batch stays out of the spool, to be the next attempt.
  uint64_t stuck_sequence_ = 0;
  uint64_t stuck_failures_ = 0;
  bool is_other_taken_ = false;  // since the last of these failures
  uint64_t refused_samples_ = 0;
};

}  // namespace vesta::uplink
