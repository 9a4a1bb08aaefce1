#include "src/cli/settings/values.h"

#include <cctype>
#include <cstddef>
#include <string>

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

bool MultiplyAdd(uint64_t factor, uint64_t addend, uint64_t* value) {
  return !__builtin_mul_overflow(*value, factor, value) &&
         !__builtin_add_overflow(*value, addend, value);
}

bool IsDigit(char character) { return character >= '0' && character <= '9'; }

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr Unit kDurationUnits[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000 * 1000},
    {"s", 1000 * 1000 * 1000},
    {"m", 60ull * 1000 * 1000 * 1000},
    {"h", 3600ull * 1000 * 1000 * 1000},
    {"d", 86400ull * 1000 * 1000 * 1000},
};

constexpr Unit kPercentUnits[] = {{"", 1000}, {"%", 1000}};

constexpr Unit kSizeUnits[] = {
    {"", 1}, {"k", 1ull << 10}, {"m", 1ull << 20}, {"g", 1ull << 30}, {"t", 1ull << 40},
};

// DIGITS[.DIGITS]UNIT; empty on anything else. Fractions are exact to a billionth of the unit.
template <size_t kCount>
bool ParseWithUnit(std::string_view text, const Unit (&units)[kCount], uint64_t* value) {
  size_t position = 0;
  uint64_t whole = 0;
  while (position < text.size() && IsDigit(text[position])) {
    if (!MultiplyAdd(10, static_cast<uint64_t>(text[position] - '0'), &whole)) return false;
    ++position;
  }
  if (position == 0) return false;
  uint64_t fraction = 0;
  uint64_t fraction_scale = 1;
  if (position < text.size() && text[position] == '.') {
    const size_t first = ++position;
    while (position < text.size() && IsDigit(text[position])) {
      if (fraction_scale < 1000000000) {
        fraction = fraction * 10 + static_cast<uint64_t>(text[position] - '0');
        fraction_scale *= 10;
      }
      ++position;
    }
    if (position == first) return false;
  }
  std::string unit(text.substr(position));
  for (char& letter : unit) letter = static_cast<char>(std::tolower(letter));
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    const auto part = static_cast<unsigned __int128>(fraction) * known.factor / fraction_scale;
    *value = whole;
    return MultiplyAdd(known.factor, static_cast<uint64_t>(part), value);
  }
  return false;
}

}  // namespace

Result<uint64_t> ParseDurationNs(std::string_view text) {
  uint64_t value = 0;
  if (ParseWithUnit(text, kDurationUnits, &value)) return value;
  return Error(ErrorCode::kInvalidInput,
               "is no time: give a number and ns, us, ms, s, m, h or d, such as 10s or 500ms");
}

Result<uint64_t> ParseSizeBytes(std::string_view text) {
  uint64_t value = 0;
  if (ParseWithUnit(text, kSizeUnits, &value)) return value;
  return Error(ErrorCode::kInvalidInput,
               "is no size: give bytes, or a number and k, M, G or T, such as 64k or 100M");
}

Result<uint64_t> ParseMilliPercent(std::string_view text) {
  uint64_t value = 0;
  if (ParseWithUnit(text, kPercentUnits, &value)) return value;
  return Error(ErrorCode::kInvalidInput, "is no percentage: give a number, such as 10 or 0.5");
}

Result<uint64_t> ParseCount(std::string_view text) {
  uint64_t value = 0;
  bool ok = !text.empty();
  for (const char character : text) {
    ok =
        ok && IsDigit(character) && MultiplyAdd(10, static_cast<uint64_t>(character - '0'), &value);
  }
  if (ok) return value;
  return Error(ErrorCode::kInvalidInput, "is no whole number, or too large a one");
}

Result<bool> ParseFlag(std::string_view text) {
  for (const std::string_view word : {"yes", "true", "on", "1"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"no", "false", "off", "0"}) {
    if (text == word) return false;
  }
  return Error(ErrorCode::kInvalidInput, "is neither yes nor no");
}

Result<DiffFormat> ParseDiffFormat(std::string_view path) {
  if (path.ends_with(".html")) return DiffFormat::kHtml;
  if (path.ends_with(".svg")) return DiffFormat::kSvg;
  if (path.ends_with(".json")) return DiffFormat::kJson;
  return Error(ErrorCode::kInvalidInput,
               "the name " + std::string(path) +
                   " does not tell how to show a difference; let it end in .html (a page), .svg or "
                   ".json");
}

}  // namespace vesta::cli
