#include "src/flame/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace vesta::flame {
namespace {

struct Step {
  double size;  // in the family's smallest unit
  std::string_view suffix;
};

constexpr std::array<Step, 5> kTime = {
    {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {3600e9, "hrs"}}};
constexpr double kKilo = 1024;
constexpr std::array<Step, 6> kBytes = {{{1, "B"},
                                         {kKilo, "kB"},
                                         {kKilo * kKilo, "MB"},
                                         {kKilo * kKilo * kKilo, "GB"},
                                         {kKilo * kKilo * kKilo * kKilo, "TB"},
                                         {kKilo * kKilo * kKilo * kKilo * kKilo, "PB"}}};

struct Alias {
  std::string_view unit;
  bool is_time;
  double size;  // as Step::size
};

constexpr Alias kAliases[] = {
    {"nanoseconds", true, 1},
    {"nanosecond", true, 1},
    {"ns", true, 1},
    {"microseconds", true, 1e3},
    {"microsecond", true, 1e3},
    {"us", true, 1e3},
    {"milliseconds", true, 1e6},
    {"millisecond", true, 1e6},
    {"ms", true, 1e6},
    {"seconds", true, 1e9},
    {"second", true, 1e9},
    {"s", true, 1e9},
    {"bytes", false, 1},
    {"byte", false, 1},
    {"b", false, 1},
    {"kilobytes", false, kKilo},
    {"kilobyte", false, kKilo},
    {"kb", false, kKilo},
    {"megabytes", false, kBytes[2].size},
    {"megabyte", false, kBytes[2].size},
    {"mb", false, kBytes[2].size},
};

const Alias* FindAlias(std::string_view unit) {
  for (const Alias& alias : kAliases) {
    if (alias.unit == unit) return &alias;
  }
  return nullptr;
}

// The largest step in which the value is at least 1.
size_t StepOf(double value, std::span<const Step> steps) {
  size_t step = 0;
  while (step + 1 < steps.size() && value >= steps[step + 1].size) ++step;
  return step;
}

std::string Print(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

double Magnitude(int64_t value) { return std::abs(static_cast<double>(value)); }

}  // namespace

ValueFormat::ValueFormat(std::string_view unit, int64_t value_min, int64_t value_max) {
  const Alias* const alias = FindAlias(unit);
  if (alias == nullptr) return;
  const auto steps = alias->is_time ? std::span<const Step>(kTime) : std::span<const Step>(kBytes);
  const double least = Magnitude(value_min) * alias->size;
  const double most = Magnitude(value_max) * alias->size;
  const size_t step = std::min(StepOf(least * 100, steps), StepOf(most, steps));
  divisor_ = steps[step].size / alias->size;
  suffix_ = steps[step].suffix;
  scaled_ = true;
}

std::string ValueFormat::Text(int64_t value) const {
  if (value == 0) return "0";
  if (!scaled_) return std::to_string(value);
  // The smallest unit has no parts.
  if (divisor_ == 1) return std::to_string(value) + std::string(suffix_);
  return Print("%.2f", static_cast<double>(value) / divisor_) + std::string(suffix_);
}

std::string ScaledText(int64_t value, std::string_view unit) {
  return ValueFormat(unit, value, value).Text(value);
}

std::string PercentText(int64_t part, int64_t whole) {
  if (whole == 0) return "0%";
  return Print("%.2f%%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

int64_t TimeUnitNs(std::string_view unit) {
  const Alias* const alias = FindAlias(unit);
  return alias != nullptr && alias->is_time ? static_cast<int64_t>(alias->size) : 0;
}

}  // namespace vesta::flame
