// Which volumes must go, by age, bytes and the fullness of the disk. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vesta::store {

struct RetentionLimits {
  int64_t age_ms = int64_t{30} * 86'400'000;
  uint64_t bytes_max = 20'000'000'000;
  double disk_full_share = 0.85;  // the oldest raw rows go beyond
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

// Whether so little is free that writes must be refused.
bool IsBelowReserve(const DiskSpace& space, const RetentionLimits& limits);

// What the policy must know of a volume.
struct RetentionVolume {
  int64_t day = 0;  // since 1970
  uint32_t number = 0;
  bool is_open = false;
  uint64_t raw_bytes = 0;    // of raw rows, which may go alone
  uint64_t other_bytes = 0;  // roll-ups and dictionaries
};

struct RetentionStep {
  enum class What : uint8_t { kRawRows, kWhole };
  What what = What::kWhole;
  size_t volume = 0;  // index into what was asked
  friend bool operator==(const RetentionStep&, const RetentionStep&) = default;
};

// Shape: in the order in which they must be done. By age whole days; then, while all together are
//        beyond bytes_max, raw rows of the oldest days, and when none are left, the oldest whole
//        volumes; while the disk is too full, raw rows of the oldest days. Open volumes stay,
//        except by age.
std::vector<RetentionStep> RetentionSteps(std::span<const RetentionVolume> volumes,
                                          int64_t now_unix_ms, const DiskSpace& space,
                                          const RetentionLimits& limits);

}  // namespace vesta::store
