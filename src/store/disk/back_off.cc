#include "src/store/disk/back_off.h"

#include <algorithm>

#include "src/store/disk/files.h"

namespace vesta::store {

namespace {

constexpr int64_t kFirstWaitMs = 1'000;
constexpr int64_t kLongestWaitMs = 300'000;

}  // namespace

bool BackOff::IsDue(const Step& step, int64_t now_unix_ms) const {
  const auto found = troubles_.find(step);
  if (found == troubles_.end()) return true;
  const Trouble& trouble = found->second;
  return now_unix_ms < trouble.failed_unix_ms ||
         now_unix_ms - trouble.failed_unix_ms >= trouble.wait_ms;
}

bool BackOff::Fail(const Step& step, const base::Error& error, int64_t now_unix_ms) {
  const bool is_told = std::any_of(troubles_.begin(), troubles_.end(), [&](const auto& known) {
    if (known.first == step && known.second.message == error.message()) return true;
    return !IsDamage(error) && known.first.name == step.name && known.second.code == error.code();
  });
  Trouble& trouble = troubles_[step];
  trouble.wait_ms = std::clamp(2 * trouble.wait_ms, kFirstWaitMs, kLongestWaitMs);
  trouble.failed_unix_ms = now_unix_ms;
  trouble.code = error.code();
  trouble.message = error.message();
  return !is_told;
}

void BackOff::Forget(VolumeId volume) {
  std::erase_if(troubles_, [volume](const auto& known) { return known.first.volume == volume; });
}

}  // namespace vesta::store
