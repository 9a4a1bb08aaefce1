#include "src/store/disk/day.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace vesta::store {

namespace {

// A year that begins with March has its leap day at its end, so months follow one formula.
// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
constexpr int64_t kDaysPerEra = 146'097;  // 400 years
constexpr int64_t kDaysBefore1970 = 719'468;

struct Date {
  int64_t year;
  int64_t month;  // 1 to 12
  int64_t day;    // 1 to 31
};

int64_t DaysOf(Date date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * ((date.month + 9) % 12) + 2) / 5 + date.day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * kDaysPerEra + day_of_era - kDaysBefore1970;
}

Date DateOf(int64_t days) {
  const int64_t shifted = days + kDaysBefore1970;
  const int64_t era = (shifted >= 0 ? shifted : shifted - (kDaysPerEra - 1)) / kDaysPerEra;
  const int64_t day_of_era = shifted - era * kDaysPerEra;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
          day_of_year - (153 * shifted_month + 2) / 5 + 1};
}

// Nothing when a character is no digit.
std::optional<int64_t> ParseDigits(std::string_view digits) {
  int64_t value = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return value;
}

}  // namespace

std::string DayName(int64_t day) {
  const Date date = DateOf(std::clamp(day, kDayMin, kDayMax));
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02d", static_cast<int>(date.year),
                static_cast<int>(date.month), static_cast<int>(date.day));
  return text.data();
}

std::optional<int64_t> ParseDayName(std::string_view name) {
  if (name.size() != 10 || name[4] != '-' || name[7] != '-') return std::nullopt;
  const auto year = ParseDigits(name.substr(0, 4));
  const auto month = ParseDigits(name.substr(5, 2));
  const auto day = ParseDigits(name.substr(8, 2));
  if (!year || !month || !day || *month < 1 || *month > 12) return std::nullopt;
  const int64_t days = DaysOf({*year, *month, *day});
  if (DayName(days) != name) return std::nullopt;  // such as a 30th of February
  return days;
}

std::string VolumeName(uint32_t number) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "v%04u", number);
  return text.data();
}

std::optional<uint32_t> ParseVolumeName(std::string_view name) {
  if (name.size() < 5 || name.size() > 9 || name[0] != 'v') return std::nullopt;
  const auto number = ParseDigits(name.substr(1));
  if (!number || *number < 1 || VolumeName(static_cast<uint32_t>(*number)) != name) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*number);
}

}  // namespace vesta::store
