#include "src/store/disk/retention.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/store/disk/day.h"

namespace vesta::store {

namespace {

constexpr int64_t kJumpMs = 60'000;
constexpr int64_t kDoubtMs = 3'600'000;
constexpr uint64_t kAsideShare = 10;

// What is left while steps are chosen.
class Plan {
 public:
  using Why = RetentionStep::Why;

  Plan(std::span<const RetentionVolume> volumes, uint64_t aside_bytes)
      : volumes_(volumes), bytes_(aside_bytes) {
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
      if (DayStartUnixMs(volumes_[volume].day + 1) <= time_unix_ms) RemoveWhole(volume, Why::kAge);
    }
  }

  // Returns whether there was one.
  bool RemoveOldestRaw(Why why) {
    for (const size_t volume : order_) {
      if (!HasRaw(volume)) continue;
      steps_.push_back({RetentionStep::What::kRawRows, volume, why});
      bytes_ -= std::exchange(raw_[volume], 0);
      return true;
    }
    return false;
  }

  bool RemoveOldestWhole(Why why) {
    for (const size_t volume : order_) {
      if (gone_[volume] || volumes_[volume].is_open) continue;
      RemoveWhole(volume, why);
      return true;
    }
    return false;
  }

  // Of all raw rows that may go.
  uint64_t raw_bytes() const {
    uint64_t bytes = 0;
    for (const size_t volume : order_) bytes += HasRaw(volume) ? raw_[volume] : 0;
    return bytes;
  }

  uint64_t bytes() const { return bytes_; }
  std::vector<RetentionStep> TakeSteps() { return std::move(steps_); }

 private:
  bool HasRaw(size_t volume) const {
    return !gone_[volume] && !volumes_[volume].is_open && raw_[volume] > 0;
  }
  void RemoveWhole(size_t volume, Why why) {
    steps_.push_back({RetentionStep::What::kWhole, volume, why});
    bytes_ -= raw_[volume] + other_[volume];
    gone_[volume] = true;
  }

  std::span<const RetentionVolume> volumes_;
  std::vector<size_t> order_;  // oldest first
  std::vector<uint64_t> raw_;
  std::vector<uint64_t> other_;
  std::vector<bool> gone_;
  uint64_t bytes_;
  std::vector<RetentionStep> steps_;
};

}  // namespace

int64_t OldestKeptUnixMs(int64_t now_unix_ms, const RetentionLimits& limits) {
  int64_t oldest = 0;
  if (__builtin_sub_overflow(now_unix_ms, limits.age_ms, &oldest)) return 0;
  return std::max<int64_t>(oldest, 0);
}

uint64_t ReserveBytes(const DiskSpace& space, const RetentionLimits& limits) {
  const double share = limits.reserve_share * static_cast<double>(space.total_bytes);
  return std::min(static_cast<uint64_t>(std::ceil(share)), limits.reserve_bytes);
}

bool IsBelowReserve(const DiskSpace& space, const RetentionLimits& limits) {
  return space.total_bytes != 0 && space.free_bytes < ReserveBytes(space, limits);
}

int64_t AgeClock::Time(int64_t now_unix_ms, int64_t steady_ms, int64_t newest_unix_ms) {
  if (!last_) {
    certain_unix_ms_ = newest_unix_ms;
    doubted_since_steady_ms_ = steady_ms;
  } else if (const int64_t ahead =
                 (now_unix_ms - last_->now_unix_ms) - (steady_ms - last_->steady_ms);
             ahead > kJumpMs || ahead < -kJumpMs) {
    if (!doubted_since_steady_ms_) certain_unix_ms_ = last_->now_unix_ms;
    doubted_since_steady_ms_ = steady_ms;
  }
  last_ = Seen{now_unix_ms, steady_ms};
  if (doubted_since_steady_ms_ && steady_ms - *doubted_since_steady_ms_ >= kDoubtMs) {
    doubted_since_steady_ms_.reset();
  }
  if (!doubted_since_steady_ms_ || now_unix_ms - kDayMs <= certain_unix_ms_) return now_unix_ms;
  return certain_unix_ms_ + kDayMs;
}

RetentionPlan PlanRetention(std::span<const RetentionVolume> volumes, uint64_t aside_bytes,
                            int64_t now_unix_ms, const DiskSpace& space,
                            const RetentionLimits& limits) {
  Plan plan(volumes, aside_bytes);
  const uint64_t bytes_before = plan.bytes();
  plan.RemoveDaysBefore(OldestKeptUnixMs(now_unix_ms, limits));
  while (plan.bytes() > limits.bytes_max && plan.RemoveOldestRaw(Plan::Why::kBytes)) {
  }
  while (plan.bytes() > limits.bytes_max && plan.RemoveOldestWhole(Plan::Why::kBytes)) {
  }
  const double full_bytes = limits.disk_full_share * static_cast<double>(space.total_bytes);
  const uint64_t used_bytes = space.total_bytes - std::min(space.free_bytes, space.total_bytes);
  const auto is_full = [&](uint64_t more_bytes) {
    return static_cast<double>(used_bytes) -
               static_cast<double>(bytes_before - plan.bytes() + more_bytes) >
           full_bytes;
  };
  if (space.total_bytes == 0 || !is_full(0)) return {plan.TakeSteps()};
  if (is_full(plan.raw_bytes())) return {plan.TakeSteps(), true};
  while (is_full(0) && plan.RemoveOldestRaw(Plan::Why::kFullDisk)) {
  }
  return {plan.TakeSteps()};
}

std::vector<size_t> AsidesToRemove(std::span<const AsideFile> files, int64_t now_unix_ms,
                                   const RetentionLimits& limits) {
  std::vector<size_t> order(files.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [files](size_t a, size_t b) {
    return files[a].since_unix_ms < files[b].since_unix_ms;
  });
  uint64_t bytes = 0;
  for (const AsideFile& file : files) bytes += file.bytes;
  const int64_t oldest = OldestKeptUnixMs(now_unix_ms, limits);
  std::vector<size_t> gone;
  for (const size_t at : order) {
    const AsideFile& file = files[at];
    const bool is_too_old = file.day && DayStartUnixMs(*file.day + 1) <= oldest;
    const bool is_too_much = bytes > limits.bytes_max / kAsideShare && at != order.back();
    if (!is_too_old && !is_too_much) continue;
    gone.push_back(at);
    bytes -= file.bytes;
  }
  return gone;
}

}  // namespace vesta::store
