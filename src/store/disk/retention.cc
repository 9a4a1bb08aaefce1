#include "src/store/disk/retention.h"

#include <algorithm>
#include <numeric>

#include "src/store/disk/day.h"

namespace vesta::store {

namespace {

// What is left while steps are chosen.
class Plan {
 public:
  explicit Plan(std::span<const RetentionVolume> volumes) : volumes_(volumes) {
    order_.resize(volumes.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::sort(order_.begin(), order_.end(), [volumes](size_t a, size_t b) {
      return std::pair(volumes[a].day, volumes[a].number) <
             std::pair(volumes[b].day, volumes[b].number);
    });
    raw_.reserve(volumes.size());
    other_.reserve(volumes.size());
    for (const RetentionVolume& volume : volumes) {
      raw_.push_back(volume.raw_bytes);
      other_.push_back(volume.other_bytes);
      bytes_ += volume.raw_bytes + volume.other_bytes;
    }
    gone_.resize(volumes.size());
  }

  void RemoveDaysBefore(int64_t time_unix_ms) {
    for (const size_t volume : order_) {
      if (DayStartUnixMs(volumes_[volume].day + 1) <= time_unix_ms) RemoveWhole(volume);
    }
  }

  // Removes the oldest raw rows; returns the bytes that are free then, 0 = no closed ones are left.
  uint64_t RemoveOldestRaw() {
    for (const size_t volume : order_) {
      if (gone_[volume] || volumes_[volume].is_open || raw_[volume] == 0) continue;
      const uint64_t freed = raw_[volume];
      steps_.push_back({RetentionStep::What::kRawRows, volume});
      bytes_ -= freed;
      raw_[volume] = 0;
      return freed;
    }
    return 0;
  }

  bool RemoveOldestWhole() {
    for (const size_t volume : order_) {
      if (gone_[volume] || volumes_[volume].is_open) continue;
      RemoveWhole(volume);
      return true;
    }
    return false;
  }

  uint64_t bytes() const { return bytes_; }
  std::vector<RetentionStep> TakeSteps() { return std::move(steps_); }

 private:
  void RemoveWhole(size_t volume) {
    steps_.push_back({RetentionStep::What::kWhole, volume});
    bytes_ -= raw_[volume] + other_[volume];
    gone_[volume] = true;
  }

  std::span<const RetentionVolume> volumes_;
  std::vector<size_t> order_;  // oldest first
  std::vector<uint64_t> raw_;
  std::vector<uint64_t> other_;
  std::vector<bool> gone_;
  uint64_t bytes_ = 0;
  std::vector<RetentionStep> steps_;
};

}  // namespace

int64_t OldestKeptUnixMs(int64_t now_unix_ms, const RetentionLimits& limits) {
  int64_t oldest = 0;
  if (__builtin_sub_overflow(now_unix_ms, limits.age_ms, &oldest)) return 0;
  return std::max<int64_t>(oldest, 0);
}

bool IsBelowReserve(const DiskSpace& space, const RetentionLimits& limits) {
  if (space.total_bytes == 0) return false;
  const double share = limits.reserve_share * static_cast<double>(space.total_bytes);
  return static_cast<double>(space.free_bytes) <
         std::min(share, static_cast<double>(limits.reserve_bytes));
}

std::vector<RetentionStep> RetentionSteps(std::span<const RetentionVolume> volumes,
                                          int64_t now_unix_ms, const DiskSpace& space,
                                          const RetentionLimits& limits) {
  Plan plan(volumes);
  const uint64_t bytes_before = plan.bytes();
  plan.RemoveDaysBefore(OldestKeptUnixMs(now_unix_ms, limits));
  while (plan.bytes() > limits.bytes_max && plan.RemoveOldestRaw() != 0) {
  }
  while (plan.bytes() > limits.bytes_max && plan.RemoveOldestWhole()) {
  }
  const double full_bytes = limits.disk_full_share * static_cast<double>(space.total_bytes);
  const uint64_t used_bytes = space.total_bytes - std::min(space.free_bytes, space.total_bytes);
  while (space.total_bytes != 0 &&
         static_cast<double>(used_bytes) - static_cast<double>(bytes_before - plan.bytes()) >
             full_bytes &&
         plan.RemoveOldestRaw() != 0) {
  }
  return plan.TakeSteps();
}

}  // namespace vesta::store
