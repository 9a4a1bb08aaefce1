// Names of days and volumes: which folder a time belongs to. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/calendar.h"

namespace vesta::store {

using base::kDayMs;

// Days since 1970-01-01 in UTC.
constexpr int64_t DayOf(int64_t time_unix_ms) { return base::FloorDivide(time_unix_ms, kDayMs); }
constexpr int64_t DayStartUnixMs(int64_t day) { return day * kDayMs; }

// Days that a folder's name can say: 0000-01-01 to 9999-12-31.
inline constexpr int64_t kDayMin = -719'528;
inline constexpr int64_t kDayMax = 2'932'896;

// "2026-11-30".
std::string DayName(int64_t day);
// Nothing for text that DayName does not write.
std::optional<int64_t> ParseDayName(std::string_view name);

struct VolumeId {
  int64_t day = 0;
  uint32_t number = 0;
  friend auto operator<=>(const VolumeId&, const VolumeId&) = default;
};

// "v0001"; numbers count from 1.
std::string VolumeName(uint32_t number);
std::optional<uint32_t> ParseVolumeName(std::string_view name);

}  // namespace vesta::store
