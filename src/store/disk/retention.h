// Which volumes must go, by age, bytes and the fullness of the disk. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vesta::store {

struct RetentionLimits {
  int64_t age_ms = int64_t{30} * 86'400'000;
  uint64_t bytes_max = 20'000'000'000;
  double disk_full_share = 0.85;  // the oldest raw rows go beyond, if that helps
  // Below this much free space, writes are refused: reserve_share of the disk, at most
  // reserve_bytes.
  double reserve_share = 0.05;
  uint64_t reserve_bytes = uint64_t{1} << 30;
};

// Of the file system that the folder is on. Shape: 0 of 0 = unknown, never full.
struct DiskSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;  // for us
};

// Rows before this are not taken (too old), and days that end before it are removed.
int64_t OldestKeptUnixMs(int64_t now_unix_ms, const RetentionLimits& limits);

// What must stay free on the disk.
uint64_t ReserveBytes(const DiskSpace& space, const RetentionLimits& limits);

// Whether so little is free that writes must be refused.
bool IsBelowReserve(const DiskSpace& space, const RetentionLimits& limits);

// The time that ages are counted from: the clock, unless that has just jumped, or is far ahead of
// all that is stored when the store is opened. A clock that boots in another year, or is set there,
// must not empty the store before somebody has set it right. Pure.
class AgeClock {
 public:
  // steady_ms runs on evenly, also while the machine sleeps, whatever happens to the clock.
  // newest_unix_ms = time of the newest row; used by the first call only.
  // Units: at most now. Until the clock has run for an hour without a jump of more than a minute,
  //        also at most a day more than the last time that was certain.
  int64_t Time(int64_t now_unix_ms, int64_t steady_ms, int64_t newest_unix_ms);

 private:
  struct Seen {
    int64_t now_unix_ms;
    int64_t steady_ms;
  };
  std::optional<Seen> last_;
  std::optional<int64_t> doubted_since_steady_ms_;
  int64_t certain_unix_ms_ = 0;
};

// What the policy must know of a volume.
struct RetentionVolume {
  int64_t day = 0;  // since 1970
  uint32_t number = 0;
  bool is_open = false;
  uint64_t raw_bytes = 0;    // of raw rows, which may go alone
  uint64_t other_bytes = 0;  // roll-ups and dictionaries; of an open one all that is sealed
};

struct RetentionStep {
  enum class What : uint8_t { kRawRows, kWhole };
  enum class Why : uint8_t { kAge, kBytes, kFullDisk };
  What what = What::kWhole;
  size_t volume = 0;  // index into what was asked
  Why why = Why::kAge;
  friend bool operator==(const RetentionStep&, const RetentionStep&) = default;
};

struct RetentionPlan {
  std::vector<RetentionStep> steps;  // in the order in which they must be done
  // The disk is too full, but by others: not even all raw rows would help, so they stay.
  bool is_full_by_others = false;
};

// Shape: by age whole days; then, while all together are beyond bytes_max, raw rows of the oldest
//        days, and when none are left, the oldest whole volumes; while the disk is too full, raw
//        rows of the oldest days, if that is enough. Open volumes stay, except by age.
// Units: aside_bytes lie in the folder, too (what damage set aside), and count as bytes. What is
//        removed but still read by somebody must be in space.free_bytes.
RetentionPlan PlanRetention(std::span<const RetentionVolume> volumes, uint64_t aside_bytes,
                            int64_t now_unix_ms, const DiskSpace& space,
                            const RetentionLimits& limits);

// What was set aside because it was damaged.
struct AsideFile {
  std::optional<int64_t> day;  // whose rows it may have
  uint64_t bytes = 0;
  int64_t since_unix_ms = 0;
};

// Which of them must go: of days that are too old, and the oldest while all together have more than
// a tenth of the bytes that the store may have. The newest stays, so that a person can look at it.
// Shape: indexes.
std::vector<size_t> AsidesToRemove(std::span<const AsideFile> files, int64_t now_unix_ms,
                                   const RetentionLimits& limits);

}  // namespace vesta::store
