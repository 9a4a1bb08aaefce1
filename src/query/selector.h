// Which profiles a question is about: cpu{service="x",version=~"1\\..*"}@-2h..-1h
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/query/time_text.h"

namespace vesta::query {

enum class MatchKind : uint8_t { kEqual, kNotEqual, kMatches, kMatchesNot };

// Shape: `name` as the store has it: aliases (service, version, ...) are resolved. A series without
//        the label has the value "". Patterns must match the whole value (RE2).
struct Matcher {
  std::string name;
  MatchKind kind = MatchKind::kEqual;
  std::string value;
  friend bool operator==(const Matcher&, const Matcher&) = default;
};

// Shape: type "" = the default one; unit "" = whichever the type has.
struct Selector {
  std::string type;
  std::string unit;
  std::vector<Matcher> matchers;
  std::optional<TimePointRange> range = std::nullopt;  // its own, before the question's
  friend bool operator==(const Selector&, const Selector&) = default;
};

// Shape: [TYPE[:UNIT]] [{NAME OP VALUE, ...}] [@FROM[..TO]]; OP is = != =~ !~; a VALUE is "..."
// with
//        the escapes \\ \" \n \r \t, or `...` without any; a NAME is bare (letters, digits, _ . -
//        /) or quoted like a value. docs/query.md has examples.
// Errors: InvalidInput with the position (counted from 1) and what was expected there; patterns
//         that are wrong or too large as RE2 tells.
base::Result<Selector> ParseSelector(std::string_view text);

// A text that ParseSelector reads as the same.
std::string SelectorText(const Selector& selector);

// A label as the store has it, for what a user typed (`by`, names of labels).
std::string StoredLabelName(std::string_view name);

// pid, tid and thread: they belong to the task of a row, not to its series.
bool IsTaskLabel(std::string_view stored_name);

}  // namespace vesta::query
