#include "src/base/calendar.h"

#include <array>
#include <cstdio>

namespace vesta::base {
namespace {

// A year that begins with March has its leap day at its end, so months follow one formula.
// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
constexpr int64_t kYearsPerEra = 400;
constexpr int64_t kDaysPerEra = 146'097;
constexpr int64_t kDaysBefore1970 = 719'468;

}  // namespace

int64_t DaysOf(const Date& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t year_of_era = FloorRemainder(year, kYearsPerEra);
  const int64_t day_of_year = (153 * ((date.month + 9) % 12) + 2) / 5 + date.day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return FloorDivide(year, kYearsPerEra) * kDaysPerEra + day_of_era - kDaysBefore1970;
}

Date DateOf(int64_t days) {
  const int64_t shifted = days + kDaysBefore1970;
  const int64_t day_of_era = FloorRemainder(shifted, kDaysPerEra);
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const int64_t year = FloorDivide(shifted, kDaysPerEra) * kYearsPerEra + year_of_era;
  return {year + (month <= 2 ? 1 : 0), month, day_of_year - (153 * shifted_month + 2) / 5 + 1};
}

std::string DateText(const Date& date) {
  std::array<char, 72> text;  // also of any three numbers
  std::snprintf(text.data(), text.size(), "%04lld-%02lld-%02lld", static_cast<long long>(date.year),
                static_cast<long long>(date.month), static_cast<long long>(date.day));
  return text.data();
}

}  // namespace vesta::base
