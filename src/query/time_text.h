// Times as people type them: -5m, now, yesterday 14:02, 2026-11-30, RFC 3339, seconds since 1970.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/store/store.h"

namespace vesta::query {

// A time that may still depend on what time it is.
struct TimePoint {
  enum class Kind : uint8_t {
    kBeforeNow,  // ms = how long ago; negative = ahead
    kUnix,       // ms since 1970
    kTimeOfDay,  // ms since midnight UTC of the day that now is in; negative = of a day before
  };
  Kind kind = Kind::kBeforeNow;
  int64_t ms = 0;
  int64_t UnixMs(int64_t now_unix_ms) const;
  friend bool operator==(const TimePoint&, const TimePoint&) = default;
};

// [from, to)
struct TimePointRange {
  TimePoint from;
  TimePoint to;
  friend bool operator==(const TimePointRange&, const TimePointRange&) = default;
};

// Shape: "now"; "-1h30m", "now-5m", "+10s" of w d h m s ms; "14:02", "14:02:03.250", up to "24:00";
//        "yesterday", "today"; "yesterday 14:02", "-2d 14:02" (also with '@' for ' ');
//        "2026-11-30", "2026-11-30T14:02[:03[.250]][Z|+01:00]", also with ' ' for 'T'; a number is
//        seconds since 1970 (with up to 3 decimals), milliseconds from 100,000,000,000 on. Without
//        a zone it is UTC.
// Errors: InvalidInput, naming the text and what was expected.
base::Result<TimePoint> ParseTime(std::string_view text);

// A text that ParseTime reads as the same.
std::string TimePointText(const TimePoint& time);

// "2026-11-30T14:02:03Z to 2026-11-30T15:02:03Z": whole seconds, which are enough for headings.
std::string RangeText(store::TimeRange range);

// "2026-11-30T14:02:03.250Z"; the fraction only where it is not 0. Outside of the years 0 to 9999:
// the number.
std::string UnixMsText(int64_t unix_ms);

// Shape: as the units of ParseTime, without a sign: "30s", "1h30m".
// Errors: InvalidInput; also for 0.
base::Result<int64_t> ParseDurationMs(std::string_view text);
std::string DurationText(int64_t ms);

// Errors: InvalidInput when from is not before to.
base::Result<store::TimeRange> ResolveRange(const TimePointRange& range, int64_t now_unix_ms);

}  // namespace vesta::query
