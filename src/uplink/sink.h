// Where the uplink delivers: a server over HTTP (http_sink.h), or the store of this process.
#pragma once

#include <cstdint>
#include <string>

#include "src/uplink/parcel.h"

namespace vesta::uplink {

enum class Verdict : uint8_t {
  kDelivered,  // it is durable there, or was before
  kLater,      // not now: the parcel is kept, and nothing else is sent for a while
  kRefused,    // never: the parcel is lost
};

struct Delivery {
  Verdict verdict = Verdict::kDelivered;
  uint64_t samples_rejected = 0;  // of a delivered one
  uint64_t retry_after_ms = 0;    // how long to leave it alone at least; 0 = it did not say
  // With kLater: it may be this very parcel on which the sink fails, so that it is given up when
  // others are taken meanwhile, time after time.
  bool may_be_the_parcel = false;
  // For a person: what happened and what to do. "" when delivered whole.
  std::string message = {};
};

// Threads: Deliver on the uplink's thread, Cancel on any.
class Sink {
 public:
  virtual ~Sink() = default;
  // What is delivered twice must count once there: after a crash it may come again.
  virtual Delivery Deliver(Parcel& parcel) = 0;
  // Ends the delivery that runs, and each later one, soon (within a second): with kLater.
  virtual void Cancel() = 0;
};

}  // namespace vesta::uplink
