// Reads JSON text that nobody vouches for into a tree of values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.h"

namespace vesta::base {

// Asking a value for a kind that it is not gives nothing, so that a walk through a foreign document
// needs one check at its end.
class JsonValue {
 public:
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind() const { return kind_; }
  std::optional<bool> AsBool() const;
  std::optional<uint64_t> AsUint() const;  // a whole number that fits, written without exponent
  std::optional<double> AsDouble() const;
  const std::string* AsString() const;  // null when it is none
  // Empty unless it is an array, or an object.
  const std::vector<JsonValue>& items() const { return items_; }
  const std::vector<std::pair<std::string, JsonValue>>& members() const { return members_; }
  // Member of an object; null when it is none or has no such member.
  const JsonValue* Find(std::string_view key) const;

 private:
  friend class JsonTreeBuilder;
  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  std::string text_;  // of a string; of a number as written
  std::vector<JsonValue> items_;
  std::vector<std::pair<std::string, JsonValue>> members_;
};

// Shape:  RFC 8259; strings must be valid UTF-8 only as far as the caller cares.
// Cost:   memory O(text); nesting deeper than 64 is refused.
// Errors: Corrupt, with the byte where it happened.
Result<JsonValue> ParseJson(std::string_view text);

}  // namespace vesta::base
