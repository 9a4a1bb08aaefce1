#include "src/store/disk/day.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace vesta::store {
namespace {

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
  return base::DateText(base::DateOf(std::clamp(day, kDayMin, kDayMax)));
}

std::optional<int64_t> ParseDayName(std::string_view name) {
  if (name.size() != 10 || name[4] != '-' || name[7] != '-') return std::nullopt;
  const auto year = ParseDigits(name.substr(0, 4));
  const auto month = ParseDigits(name.substr(5, 2));
  const auto day = ParseDigits(name.substr(8, 2));
  if (!year || !month || !day || *month < 1 || *month > 12) return std::nullopt;
  const int64_t days = base::DaysOf({*year, *month, *day});
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
