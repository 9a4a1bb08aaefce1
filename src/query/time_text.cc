#include "src/query/time_text.h"

#include <array>
#include <cstdio>
#include <limits>
#include <optional>

#include "src/base/calendar.h"

namespace vesta::query {
namespace {

using base::kDayMs;
using base::kHourMs;
using base::kMinuteMs;
using base::kSecondMs;

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

// "14:02[:03[.250]]"; 24:00 is the end of the day.
std::optional<int64_t> TimeOfDay(Reader& reader) {
  const auto hour = reader.Digits(2);
  if (!hour || *hour > 24 || !reader.Take(':')) return std::nullopt;
  const auto minute = reader.Digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  int64_t ms = *hour * kHourMs + *minute * kMinuteMs;
  if (reader.Take(':')) {
    const auto second = reader.Digits(2);
    if (!second || *second > 59) return std::nullopt;
    ms += *second * kSecondMs;
    if (reader.Take('.')) {
      const auto fraction = reader.Thousandths();
      if (!fraction) return std::nullopt;
      ms += *fraction;
    }
  }
  if (ms > kDayMs) return std::nullopt;
  return ms;
}

// "yesterday", "today 14:02", "-2d 14:02": of a day that is told by how long ago it was. Without a
// time "-2d" is no day, but 48 hours ago.
std::optional<int64_t> TimeOfNamedDay(Reader& reader) {
  std::optional<int64_t> days_ago;
  bool needs_time = false;
  if (reader.Take("yesterday")) {
    days_ago = 1;
  } else if (reader.Take("today")) {
    days_ago = 0;
  } else if (reader.Take('-')) {
    days_ago = reader.Digits(0);
    if (!days_ago || *days_ago > kTimeMsMax / kDayMs || !reader.Take('d')) return std::nullopt;
    needs_time = true;
  }
  if (!days_ago) return std::nullopt;
  if (reader.done() && !needs_time) return -*days_ago * kDayMs;
  if (!reader.Take(' ') && !reader.Take('@') && !reader.Take('T')) return std::nullopt;
  const auto time = TimeOfDay(reader);
  if (!time) return std::nullopt;
  return *time - *days_ago * kDayMs;
}

std::optional<int64_t> DateAndTime(Reader& reader) {
  const auto year = reader.Digits(4);
  if (!year || !reader.Take('-')) return std::nullopt;
  const auto month = reader.Digits(2);
  if (!month || *month < 1 || *month > 12 || !reader.Take('-')) return std::nullopt;
  const auto day = reader.Digits(2);
  if (!day || *day < 1 || *day > 31) return std::nullopt;
  const int64_t days = base::DaysOf({*year, *month, *day});
  if (base::DateOf(days).day != *day) return std::nullopt;  // 30 February
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
  Reader day(text);
  if (const auto ms = TimeOfNamedDay(day); ms && day.done())
    return TimePoint{TimePoint::Kind::kTimeOfDay, *ms};
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
    case Kind::kTimeOfDay:
      return now_unix_ms - base::FloorRemainder(now_unix_ms, kDayMs) + ms;
  }
  return ms;
}

base::Result<TimePoint> ParseTime(std::string_view text) {
  const auto time = Parse(text.starts_with("now") && text.size() > 3 ? text.substr(3) : text);
  // "now" stands before an offset only.
  if (time && (!text.starts_with("now") || time->kind == TimePoint::Kind::kBeforeNow)) return *time;
  // Who writes a length means that it is over.
  const std::string said = '"' + std::string(text) + "\" is no time: ";
  if (ParseDurationMs(text).ok()) {
    return base::Error(
        base::ErrorCode::kInvalidInput,
        said + "so long ago is -" + std::string(text) + ", so far ahead +" + std::string(text));
  }
  return base::Error(base::ErrorCode::kInvalidInput,
                     said +
                         "expected now, an offset such as -1h30m, 14:02, yesterday 14:02, "
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
  const base::Date date = base::DateOf(base::FloorDivide(unix_ms, kDayMs));
  if (date.year < 0 || date.year > 9999) return std::to_string(unix_ms);
  return base::DateText(date) + 'T' + TimeOfDayText(base::FloorRemainder(unix_ms, kDayMs)) + 'Z';
}

std::string RangeText(store::TimeRange range) {
  for (int64_t* end : {&range.from_unix_ms, &range.to_unix_ms}) {
    const int64_t behind = base::FloorRemainder(*end, kSecondMs);
    if (*end >= std::numeric_limits<int64_t>::min() + behind) *end -= behind;
  }
  return UnixMsText(range.from_unix_ms) + " to " + UnixMsText(range.to_unix_ms);
}

std::string TimePointText(const TimePoint& time) {
  switch (time.kind) {
    case TimePoint::Kind::kBeforeNow:
      if (time.ms == 0) return "now";
      return (time.ms > 0 ? "-" : "+") + DurationText(time.ms > 0 ? time.ms : -time.ms);
    case TimePoint::Kind::kUnix:
      return UnixMsText(time.ms);
    case TimePoint::Kind::kTimeOfDay: {
      if (time.ms >= 0) return TimeOfDayText(time.ms);
      const int64_t days_ago = (-time.ms + kDayMs - 1) / kDayMs;
      const std::string day = days_ago == 1 ? "yesterday" : '-' + std::to_string(days_ago) + 'd';
      return day + ' ' + TimeOfDayText(time.ms + days_ago * kDayMs);
    }
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
