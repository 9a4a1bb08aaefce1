#include "src/query/time_text.h"

#include <array>
#include <cstdio>
#include <limits>
#include <optional>

namespace vesta::query {
namespace {

constexpr int64_t kSecondMs = 1000;
constexpr int64_t kMinuteMs = 60 * kSecondMs;
constexpr int64_t kHourMs = 60 * kMinuteMs;
constexpr int64_t kDayMs = 24 * kHourMs;
constexpr int64_t kMillisecondsFrom = 100'000'000'000;  // a number from here on is no seconds
constexpr int64_t kTimeMsMax = int64_t{1} << 53;

struct Unit {
  std::string_view name;
  int64_t ms;
};
// Longest first where one begins like another.
constexpr Unit kUnits[] = {{"ms", 1},      {"w", 7 * kDayMs}, {"d", kDayMs},
                           {"h", kHourMs}, {"m", kMinuteMs},  {"s", kSecondMs}};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // Exactly so many digits; 0 = one or more, up to 16.
  std::optional<int64_t> Digits(size_t count) {
    int64_t value = 0;
    size_t seen = 0;
    while (seen < (count == 0 ? 16 : count) && seen < rest_.size() && rest_[seen] >= '0' &&
           rest_[seen] <= '9')
      value = value * 10 + (rest_[seen++] - '0');
    if (seen == 0 || (count != 0 && seen != count)) return std::nullopt;
    rest_.remove_prefix(seen);
    return value;
  }
  // What stands behind a decimal point, as thousandths.
  std::optional<int64_t> Thousandths() {
    int64_t value = 0;
    int64_t digit_value = 100;
    size_t seen = 0;
    for (; seen < rest_.size() && rest_[seen] >= '0' && rest_[seen] <= '9'; ++seen) {
      value += (rest_[seen] - '0') * digit_value;
      digit_value /= 10;
    }
    if (seen == 0 || seen > 9) return std::nullopt;
    rest_.remove_prefix(seen);
    return value;
  }

 private:
  std::string_view rest_;
};

// "1h30m" up to the end.
std::optional<int64_t> Durations(Reader& reader) {
  int64_t sum = 0;
  do {
    const auto number = reader.Digits(0);
    if (!number) return std::nullopt;
    const Unit* found = nullptr;
    for (const Unit& unit : kUnits) {
      if (found == nullptr && reader.Take(unit.name)) found = &unit;
    }
    int64_t ms = 0;
    if (found == nullptr || __builtin_mul_overflow(*number, found->ms, &ms) ||
        __builtin_add_overflow(sum, ms, &sum) || sum > kTimeMsMax)
      return std::nullopt;
  } while (!reader.done());
  return sum;
}

// "14:02[:03[.250]]"
std::optional<int64_t> TimeOfDay(Reader& reader) {
  const auto hour = reader.Digits(2);
  if (!hour || *hour > 23 || !reader.Take(':')) return std::nullopt;
  const auto minute = reader.Digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  int64_t ms = *hour * kHourMs + *minute * kMinuteMs;
  if (!reader.Take(':')) return ms;
  const auto second = reader.Digits(2);
  if (!second || *second > 59) return std::nullopt;
  ms += *second * kSecondMs;
  if (!reader.Take('.')) return ms;
  const auto fraction = reader.Thousandths();
  if (!fraction) return std::nullopt;
  return ms + *fraction;
}

// Days since 1970 of a date of the Gregorian calendar.
// Source: counting years from March, so that the leap day is the last of its year.
int64_t DaysOf(int64_t year, int64_t month, int64_t day) {
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

struct Date {
  int64_t year, month, day;
};
Date DateOf(int64_t days) {
  const int64_t z = days + 719468;
  const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const int64_t day_of_era = z - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
          day_of_year - (153 * month_from_march + 2) / 5 + 1};
}

std::optional<int64_t> DateAndTime(Reader& reader) {
  const auto year = reader.Digits(4);
  if (!year || !reader.Take('-')) return std::nullopt;
  const auto month = reader.Digits(2);
  if (!month || *month < 1 || *month > 12 || !reader.Take('-')) return std::nullopt;
  const auto day = reader.Digits(2);
  if (!day || *day < 1 || *day > 31) return std::nullopt;
  const int64_t days = DaysOf(*year, *month, *day);
  if (DateOf(days).day != *day) return std::nullopt;  // 30 February
  int64_t ms = days * kDayMs;
  if (reader.done()) return ms;
  if (!reader.Take('T') && !reader.Take(' ') && !reader.Take('t')) return std::nullopt;
  const auto time = TimeOfDay(reader);
  if (!time) return std::nullopt;
  ms += *time;
  if (reader.done() || reader.Take('Z') || reader.Take('z')) return ms;
  const bool east = reader.Take('+');
  if (!east && !reader.Take('-')) return std::nullopt;
  const auto hours = reader.Digits(2);
  if (!hours || *hours > 23 || !reader.Take(':')) return std::nullopt;
  const auto minutes = reader.Digits(2);
  if (!minutes || *minutes > 59) return std::nullopt;
  const int64_t zone = *hours * kHourMs + *minutes * kMinuteMs;
  return east ? ms - zone : ms + zone;
}

std::optional<TimePoint> Parse(std::string_view text) {
  Reader reader(text);
  if (reader.Take("now") && reader.done()) return TimePoint{};
  const bool before = reader.Take('-');
  if (before || reader.Take('+')) {
    const auto ms = Durations(reader);
    if (!ms) return std::nullopt;
    return TimePoint{TimePoint::Kind::kBeforeNow, before ? *ms : -*ms};
  }
  if (text.starts_with("now")) return std::nullopt;
  for (const auto& [kind, read] : {std::pair(TimePoint::Kind::kTimeOfDay, &TimeOfDay),
                                   std::pair(TimePoint::Kind::kUnix, &DateAndTime)}) {
    Reader again(text);
    if (const auto ms = read(again); ms && again.done()) return TimePoint{kind, *ms};
  }
  Reader number(text);
  const auto whole = number.Digits(0);
  if (!whole || *whole > kTimeMsMax) return std::nullopt;
  if (number.done() && *whole >= kMillisecondsFrom)
    return TimePoint{TimePoint::Kind::kUnix, *whole};
  if (*whole >= kMillisecondsFrom) return std::nullopt;
  int64_t fraction = 0;
  if (number.Take('.')) {
    const auto read = number.Thousandths();
    if (!read) return std::nullopt;
    fraction = *read;
  }
  if (!number.done()) return std::nullopt;
  return TimePoint{TimePoint::Kind::kUnix, *whole * kSecondMs + fraction};
}

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

std::string TimeOfDayText(int64_t ms) {
  std::string text = Format("%02lld:%02lld:%02lld", static_cast<long long>(ms / kHourMs),
                            static_cast<long long>(ms / kMinuteMs % 60),
                            static_cast<long long>(ms / kSecondMs % 60));
  if (ms % kSecondMs != 0) text += Format(".%03lld", static_cast<long long>(ms % kSecondMs));
  return text;
}

}  // namespace

int64_t TimePoint::UnixMs(int64_t now_unix_ms) const {
  switch (kind) {
    case Kind::kBeforeNow: {
      int64_t result = 0;
      if (!__builtin_sub_overflow(now_unix_ms, ms, &result)) return result;
      return ms > 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    }
    case Kind::kUnix:
      return ms;
    case Kind::kTimeOfDay: {
      const int64_t of_day = (now_unix_ms % kDayMs + kDayMs) % kDayMs;
      return now_unix_ms - of_day + ms;
    }
  }
  return ms;
}

base::Result<TimePoint> ParseTime(std::string_view text) {
  const auto time = Parse(text.starts_with("now") && text.size() > 3 ? text.substr(3) : text);
  // "now" stands before an offset only.
  if (time && (!text.starts_with("now") || time->kind == TimePoint::Kind::kBeforeNow)) return *time;
  return base::Error(base::ErrorCode::kInvalidInput,
                     "\"" + std::string(text) +
                         "\" is no time: expected now, an offset such as -1h30m, 14:02, "
                         "2026-11-30, 2026-11-30T14:02:03Z or seconds since 1970");
}

std::string DurationText(int64_t ms) {
  std::string text;
  for (const Unit& unit : {kUnits[2], kUnits[3], kUnits[4], kUnits[5], kUnits[0]}) {
    if (ms / unit.ms == 0) continue;
    text += std::to_string(ms / unit.ms) + std::string(unit.name);
    ms %= unit.ms;
  }
  return text.empty() ? "0s" : text;
}

std::string UnixMsText(int64_t unix_ms) {
  const int64_t of_day = (unix_ms % kDayMs + kDayMs) % kDayMs;
  const Date date = DateOf(unix_ms / kDayMs - (unix_ms % kDayMs < 0 ? 1 : 0));
  if (date.year < 0 || date.year > 9999) return std::to_string(unix_ms);
  return Format("%04lld-%02lld-%02lld", static_cast<long long>(date.year),
                static_cast<long long>(date.month), static_cast<long long>(date.day)) +
         'T' + TimeOfDayText(of_day) + 'Z';
}

std::string TimePointText(const TimePoint& time) {
  switch (time.kind) {
    case TimePoint::Kind::kBeforeNow:
      if (time.ms == 0) return "now";
      return (time.ms > 0 ? "-" : "+") + DurationText(time.ms > 0 ? time.ms : -time.ms);
    case TimePoint::Kind::kUnix:
      return UnixMsText(time.ms);
    case TimePoint::Kind::kTimeOfDay:
      return TimeOfDayText(time.ms);
  }
  return {};
}

base::Result<int64_t> ParseDurationMs(std::string_view text) {
  Reader reader(text);
  const auto ms = Durations(reader);
  if (ms && *ms > 0) return *ms;
  return base::Error(
      base::ErrorCode::kInvalidInput,
      "\"" + std::string(text) + "\" is no duration: expected one such as 30s, 5m or 1h30m");
}

base::Result<store::TimeRange> ResolveRange(const TimePointRange& range, int64_t now_unix_ms) {
  const store::TimeRange resolved{range.from.UnixMs(now_unix_ms), range.to.UnixMs(now_unix_ms)};
  if (resolved.from_unix_ms < resolved.to_unix_ms) return resolved;
  return base::Error(base::ErrorCode::kInvalidInput,
                     "the range is empty: " + UnixMsText(resolved.from_unix_ms) +
                         " is not before " + UnixMsText(resolved.to_unix_ms));
}

}  // namespace vesta::query
