// UTC: milliseconds since 1970 as days and dates.
#pragma once

#include <cstdint>
#include <string>

namespace vesta::base {

inline constexpr int64_t kSecondMs = 1'000;
inline constexpr int64_t kMinuteMs = 60 * kSecondMs;
inline constexpr int64_t kHourMs = 60 * kMinuteMs;
inline constexpr int64_t kDayMs = 24 * kHourMs;

// Rounded down, also below 0; the unit is above 0.
constexpr int64_t FloorDivide(int64_t value, int64_t unit) {
  return value / unit - (value % unit < 0 ? 1 : 0);
}
// What FloorDivide leaves: 0 to unit - 1.
constexpr int64_t FloorRemainder(int64_t value, int64_t unit) {
  const int64_t rest = value % unit;
  return rest < 0 ? rest + unit : rest;
}

// Shape: of the Gregorian calendar, also before it was in use; month 1 to 12, day 1 to 31.
struct Date {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
  friend bool operator==(const Date&, const Date&) = default;
};

// Days since 1970-01-01. A day that its month does not have is one of the next month.
int64_t DaysOf(const Date& date);
Date DateOf(int64_t days);

// "2026-11-30", of years 0 to 9999.
std::string DateText(const Date& date);

}  // namespace vesta::base
