// Values as people read them: 1234567890 nanoseconds is 1.23s.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vesta::flame {

// A unit to print in, chosen once per table so that a column can be compared at a glance.
// Shape: families: time ns us ms s hrs; bytes B kB MB GB TB PB in steps of 1024; everything else is
//        printed as it is.
class ValueFormat {
 public:
  // `unit` as profiles name it: "nanoseconds", "bytes", "count", ...
  // The largest unit in which value_max is at least 1 and value_min, the smallest value to be
  // shown, does not vanish behind the two decimals.
  ValueFormat(std::string_view unit, int64_t value_min, int64_t value_max);

  // "1.23s", "512.00MB", "42"; zero is "0".
  std::string Text(int64_t value) const;

 private:
  double divisor_ = 1;
  std::string_view suffix_;  // static text
  bool scaled_ = false;
};

// One value in the unit that suits it best.
std::string ScaledText(int64_t value, std::string_view unit);

// "12.34%" of whole; "0%" when the whole is 0.
std::string PercentText(int64_t part, int64_t whole);

// Whether the unit is one of time, and how many ns it is; 0 when it is not.
int64_t TimeUnitNs(std::string_view unit);

}  // namespace vesta::flame
