// Steps of the maintenance that failed: when each may be tried again, and whether a person has been
// told. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "src/base/result.h"
#include "src/store/disk/day.h"

namespace vesta::store {

// What is done to one volume; number 0 = to the whole day.
struct Step {
  VolumeId volume;
  std::string name;
  std::string file = {};  // when it is done to one file
  friend auto operator<=>(const Step&, const Step&) = default;
};

// Units: a second after the first failure, twice as long after each further one, at most 5 minutes.
class BackOff {
 public:
  // A clock that went backward keeps nothing waiting.
  bool IsDue(const Step& step, int64_t now_unix_ms) const;
  // Returns whether to tell a person: not the same again while it lasts, and of a trouble of the
  // machine (a full disk) only the first of the volumes and files that it stops.
  bool Fail(const Step& step, const base::Error& error, int64_t now_unix_ms);
  void Succeed(const Step& step) { troubles_.erase(step); }
  void Forget(VolumeId volume);

 private:
  struct Trouble {
    base::ErrorCode code = base::ErrorCode::kInternal;
    std::string message;
    int64_t failed_unix_ms = 0;
    int64_t wait_ms = 0;
  };
  std::map<Step, Trouble> troubles_;
};

}  // namespace vesta::store
